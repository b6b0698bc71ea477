"""Where a campaign lies: a folder, or a URL that fsspec knows (s3, gcs, ssh, ...)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hopflow import _files
from hopflow._errors import HopflowError

_WHOLE = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "memory"})
"""Where a file appears when all of it is written."""


@dataclass(frozen=True)
class Store:
    """A folder, here or elsewhere; files appear in it complete or not at all.

    Attributes:
        url: Its path, or its URL.
    """

    url: str

    @property
    def is_local(self) -> bool:
        """Whether it is a path."""
        return "://" not in self.url

    def path(self, name: str) -> str:
        """The path or URL of a file."""
        return f"{self.url.rstrip('/')}/{name}"

    def write(self, name: str, content: bytes) -> None:
        """Writes a file in one step, in place of one of the same name.

        Raises:
            HopflowError: It cannot be written.
        """
        try:
            if self.is_local:
                _files.replace(Path(self.url) / name, content)
            else:
                self._send(name, content)
        except OSError as error:
            raise HopflowError(f"{self.path(name)} cannot be written: {error}") from error

    def create(self, name: str, content: bytes) -> None:
        """As `write`, but a file of the same name stays; who needs to know which one, reads it.

        Of two who do this at the same time one is first, in folders and where objects have
        conditional writes; elsewhere the last one may be.

        Raises:
            HopflowError: It cannot be written.
        """
        try:
            if self.is_local:
                _files.create(Path(self.url) / name, content)
                return
            if self.url.split("://")[0] in _WHOLE and self._put_if_absent(name, content):
                return
        except OSError as error:
            raise HopflowError(f"{self.path(name)} cannot be written: {error}") from error
        if self.read(name) is None:
            self.write(name, content)

    def _put_if_absent(self, name: str, content: bytes) -> bool:
        """A conditional write; `False`: the server, or what speaks to it, knows none."""
        files, base = self._files()
        try:
            files.pipe_file(f"{base}/{name}", content, mode="create")
        except FileExistsError:
            return True
        except (OSError, TypeError, ValueError):
            return False
        return True

    def remove(self, name: str) -> None:
        """Removes a file, if it is there.

        Raises:
            HopflowError: It cannot be removed.
        """
        try:
            if self.is_local:
                (Path(self.url) / name).unlink(missing_ok=True)
                return
            files, base = self._files()
            files.rm_file(f"{base}/{name}")
        except FileNotFoundError:
            return
        except OSError as error:
            raise HopflowError(f"{self.path(name)} cannot be removed: {error}") from error

    def _send(self, name: str, content: bytes) -> None:
        files, base = self._files()
        path = f"{base}/{name}"
        if self.url.split("://")[0] in _WHOLE:
            files.pipe_file(path, content)
            return
        folder, last = path.rsplit("/", 1)
        files.makedirs(folder, exist_ok=True)
        partial = f"{folder}/{_files.hidden(last)}"
        files.pipe_file(partial, content)
        files.mv(partial, path)

    def read(self, name: str) -> bytes | None:
        """The content of a file; `None` if there is none.

        Raises:
            HopflowError: It cannot be read.
        """
        try:
            if self.is_local:
                return (Path(self.url) / name).read_bytes()
            files, base = self._files()
            content: bytes = files.cat_file(f"{base}/{name}")
            return content
        except FileNotFoundError:
            return None
        except OSError as error:
            raise HopflowError(f"{self.path(name)} cannot be read: {error}") from error

    def names(self, below: str) -> set[str]:
        """The names of all complete files below a folder of it, from the store on."""
        if self.is_local:
            top = Path(self.url)
            found = {
                os.path.relpath(os.path.join(folder, name), top).replace(os.sep, "/")
                for folder, _, names in os.walk(top / below)
                for name in names
            }
        else:
            files, base = self._files()
            files.invalidate_cache()
            prefix = base.rstrip("/") + "/"
            listed = files.find(f"{base}/{below}")
            found = {path[path.index(prefix) + len(prefix) :] for path in listed}
        return {name for name in found if not name.rsplit("/", 1)[-1].startswith(".")}

    def _files(self) -> tuple[Any, str]:
        """The file system, and the store's path in it."""
        files, base = file_system(self.url)
        return files, base.rstrip("/")


def file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the path in it.

    Raises:
        HopflowError: No package knows the protocol.
    """
    try:
        import fsspec

        files, path = fsspec.core.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise HopflowError(
            f"{url}: {error}; allowed are folders, and URLs of fsspec's file systems "
            "(`pip install 'hopflow[campaign]'`, and s3fs, gcsfs or what the protocol needs)"
        ) from error
    return files, str(path)
