"""What a campaign found: one data set, and what was decided."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hopflow._errors import HopflowError
from hopflow._extra import call
from hopflow.campaign import folder
from hopflow.campaign.storage import Store, file_system

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class CampaignResults:
    """A campaign's folder; nothing is read before it is asked for.

    Each table is one partitioned Parquet data set, with a column for each varied parameter.

    Attributes:
        url: Its path or URL.
    """

    url: str

    @property
    def _store(self) -> Store:
        return Store(self.url)

    def path(self, table: str = "runs") -> str:
        """Where a table lies, for pandas, Polars, DuckDB or R."""
        return self._store.path(f"data/{table}")

    def table(self, name: str = "runs") -> pa.Table:
        """A table over all runs.

        Raises:
            HopflowError: No run has it.
        """
        import pyarrow as pa
        import pyarrow.dataset as ds

        files: Any = None
        path = str(Path(self.url) / "data" / name)
        if not self._store.is_local:
            files, base = file_system(self.url)
            path = f"{base.rstrip('/')}/data/{name}"
        try:
            partitioning = ds.partitioning(pa.schema([("point", pa.string())]), flavor="hive")
            found = ds.dataset(path, filesystem=files, format="parquet", partitioning=partitioning)
            return found.to_table()
        except (FileNotFoundError, pa.ArrowException) as error:
            raise HopflowError(
                f"{self.url} has no table {name!r}: {error}; allowed: {', '.join(self.tables)}"
            ) from error

    @property
    def has_runs(self) -> bool:
        """Whether any run was made."""
        return bool(self._store.names("data/runs"))

    @property
    def runs(self) -> pa.Table:
        """A row per run: point, parameters, transport, network, and all quantities."""
        return self.table("runs")

    @property
    def tables(self) -> list[str]:
        """The names of the tables."""
        return [table["table"] for table in self.dictionary]

    @property
    def dictionary(self) -> list[dict[str, Any]]:
        """What tables and columns hold."""
        found: list[dict[str, Any]] = self._json(folder.DICTIONARY, list)
        return found

    @property
    def about(self) -> dict[str, Any]:
        """What all its runs have in common: scenario, build, parameters, tables."""
        found: dict[str, Any] = self._json(folder.CAMPAIGN)
        if found.get("format") != folder.FORMAT:
            raise HopflowError(
                f"{self.url} holds a campaign of another format ({found.get('format')!r}, this "
                f"reads {folder.FORMAT}); allowed is the hopflow that made it; its tables are "
                "Parquet files that others read, too"
            )
        return found

    @property
    def manifest(self) -> dict[str, Any]:
        """What the last call found: points, decisions, failures, the hash of all results."""
        found: dict[str, Any] = self._json(folder.MANIFEST)
        return found

    @property
    def summary(self) -> pa.Table:
        """A row per point, transport and quantity: the mean, and the difference to the baseline.

        Both have confidence sequences.

        Raises:
            HopflowError: No run could be made.
        """
        found: pa.Table = call("hopflow.campaign.summary:summary", self, extra="campaign")
        return found

    @property
    def report(self) -> Path:
        """The report's page, of a campaign in a folder."""
        return Path(self.url) / "report.html"

    def _json(self, name: str, kind: type = dict) -> Any:
        content = self._store.read(name)
        if content is None:
            raise HopflowError(
                f"{self.url} holds no {name}; allowed is the folder of a campaign that was run"
            )
        return folder.parsed(self._store, name, content, kind)

    def _repr_html_(self) -> str:
        manifest = self.manifest
        decided = sum(1 for point in manifest["points"] if point["decided"])
        return (
            f"<p>Campaign in <code>{self.url}</code>: {len(manifest['points'])} points, {decided} "
            f"decided; {len(manifest['failures'])} failed runs.</p>"
        )


def open_campaign(url: str | Path) -> CampaignResults:
    """The results of a campaign in a folder or at a URL.

    Raises:
        HopflowError: There is none, or its file is damaged.
    """
    found = CampaignResults(str(url))
    _ = found.about
    return found
