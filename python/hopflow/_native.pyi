"""The compiled part of the package; its sources are in `front/python`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

Scenario: TypeAlias = tuple[bool, str]
"""Whether it is TOML text, and that or else the name of a built-in scenario or a path."""

Changes: TypeAlias = Sequence[tuple[str, str]]
"""Keys of a scenario, and their other values as TOML."""

Watch: TypeAlias = Callable[[int, int, float, float], None]
"""Takes finished runs, planned runs, and seconds of simulated time: passed and in all."""

class Orders(Protocol):
    """How runs are made, and who asks for them."""

    @property
    def out(self) -> Path | None: ...
    @property
    def seeds(self) -> int | None: ...
    @property
    def circuits(self) -> Path | None: ...
    @property
    def threads(self) -> int | None: ...
    @property
    def command(self) -> str:
        """The call or command that reports name."""
    @property
    def program(self) -> Path:
        """The file of this module, which tells builds apart."""

class Runs(Protocol):
    """The runs of a transport."""

    @property
    def transport(self) -> str: ...
    @property
    def seeds(self) -> Sequence[int]: ...
    @property
    def tables(self) -> Sequence[str]: ...
    @property
    def build(self) -> str:
        """What `Native.build` says."""

class Native(Protocol):
    """The module itself, whose functions these are; failures raise `HopflowError`."""

    __file__: str

    def main(self, arguments: Sequence[str], command: str, program: Path) -> int:
        """Do what a command line says; return the exit code."""
    def run(
        self,
        scenario: Scenario,
        changes: Changes,
        transports: Sequence[str] | None,
        orders: Orders,
        watch: Watch,
    ) -> Path:
        """Run a scenario, perhaps with other values or transports; return the results folder."""
    def reproduce(self, experiment: str, orders: Orders, watch: Watch) -> Path:
        """Make an experiment again; return the folder of the results."""
    def validate(self, scenario: Scenario, changes: Changes) -> str:
        """Check a scenario, perhaps with other values; return what it would run, in a line."""
    def to_toml(self, json: str) -> str:
        """Write a scenario that is given as JSON as TOML."""
    def schema(self) -> str:
        """Return the JSON Schema of scenarios."""
    def transports(self) -> list[tuple[str, str]]:
        """Name the transports, each with a sentence about it."""
    def options(self, transport: str) -> str:
        """Return the options of a transport, as JSON."""
    def scenarios(self) -> list[tuple[str, str]]:
        """Name the built-in scenarios, each with a sentence about it."""
    def scenario_text(self, name: str) -> str | None:
        """Return the text of a built-in scenario, or `None` if there is none of this name."""
    def experiments(self) -> list[tuple[str, str]]:
        """Name the figures and tables that can be reproduced, each with its title."""
    def manifest(self, folder: Path) -> str:
        """Read the manifest of a result folder, as JSON."""
    def checksum(self, content: bytes) -> str:
        """Return the checksum of a file's content, as manifests have it."""
    def summary(self, folder: Path) -> str:
        """Compare the transports of a result folder, as JSON in base units."""
    def judge(
        self,
        value: tuple[
            float | None,
            int,
            float,
            float | None,
            float | None,
            float | None,
            float | None,
            float | None,
        ],
    ) -> tuple[str, int | None]:
        """Judge a value: x, n, mean, ci_low, ci_high, paper, band_low, band_high.

        Return the verdict, and about how many runs would decide an open case.
        """
    def write_report(self, folder: Path) -> Path:
        """Write the report of a result folder anew; return the page's path."""
    def write_page(self, page: str, folder: Path) -> Path:
        """Write a page that is given as JSON; return its path."""
    def build(self, program: Path) -> str:
        """Identify the file of this module, so that runs of another build are not taken for its."""
    def dictionary(self) -> str:
        """Describe the tables of results and of campaigns, as JSON."""
    def keys(self, scenario: Scenario, build: str) -> str:
        """Return what identifies each run of a scenario, as JSON."""
    def run_each(
        self, scenario: Scenario, wanted: Runs, watch: Watch
    ) -> list[tuple[str, list[tuple[str, bytes]]]]:
        """Make the runs of a transport, one after the other; nothing is written.

        Each is told as JSON: its key, hash, time and quantities, or why it failed; and the tables
        that are wanted, by name, as Parquet files.
        """
    def simulated(self) -> list[str]:
        """Name the experiments that have runs."""
    def lacking(self, experiment: str, orders: Orders, watch: Watch) -> str:
        """Return the runs that an experiment's folder lacks, as JSON.

        That is the number of networks of their plan, and each run's name, transport and seed. When
        these runs are made there may be more; without any, `reproduce` finds all that it needs.
        """
    def make_lacking(
        self, experiment: str, names: Sequence[str], orders: Orders, watch: Watch
    ) -> str:
        """Make some of these runs; return the name of each with its seconds or its error, as JSON.

        `orders` has the number of networks that `lacking` told.
        """
