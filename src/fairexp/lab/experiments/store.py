"""Where records are kept: a folder, or any place that fsspec knows by URL. Each is written whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from fairexp.errors import ArgumentError, MissingExtraError

Json = dict[str, Any]
_DRAFT = ".part"


class Store(Protocol):
    """Text by name; names are paths with slashes."""

    place: str
    writers: int
    """How many threads may write at once: each write takes round trips where the place is far."""

    def write(self, name: str, text: str) -> None:
        """Keep `text`; no reader ever sees half of it."""

    def read(self, name: str) -> str | None:
        """The text, or None where there is none."""

    def names(self, folder: str) -> set[str]:
        """Every name below `folder`, relative to it."""

    def delete(self, name: str) -> None:
        """Forget the text, if there is any."""


def open_records_store(place: str | Path) -> Store:
    """The store at a path, or at a URL such as s3://bucket/folder (which needs the extra `fairexp[remote]`)."""
    if "://" not in str(place):
        return FolderStore(Path(place))
    return RemoteStore(str(place))


def write_json(store: Store, name: str, content: Json) -> None:
    """Keep `content` as JSON; floats come back bit for bit."""
    store.write(name, json.dumps(content) + "\n")


def read_json(store: Store, name: str) -> Json | None:
    """What `write_json` kept; None where there is nothing, or something that a crash cut short."""
    text = store.read(name)
    if text is None:
        return None
    try:
        content = json.loads(text)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


class FolderStore:
    """Records in a local folder: each is written beside its place, brought to the disk, and moved there."""

    writers = 1

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.place = str(folder)
        if folder.exists() and not folder.is_dir():
            raise ArgumentError("records", f"{str(folder)!r}, which is a file", "a folder or a URL")

    def write(self, name: str, text: str) -> None:
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f".{secrets.token_hex(6)}{_DRAFT}")
        try:
            with draft.open("w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)

    def read(self, name: str) -> str | None:
        try:
            return (self.folder / name).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def names(self, folder: str) -> set[str]:
        top = self.folder / folder
        found = (path for path in top.rglob("*") if path.is_file() and not path.name.endswith(_DRAFT))
        return {path.relative_to(top).as_posix() for path in found}

    def delete(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)


class RemoteStore:
    """Records at a URL: each is written beside its place and moved there, so that a kill leaves a draft at most.

    Every thread has a file system of its own, as fsspec has it: not all of them may be shared.
    """

    writers = 16

    def __init__(self, url: str) -> None:
        try:
            from fsspec.core import url_to_fs
        except ImportError as error:
            raise MissingExtraError(
                f"records: {url!r} needs fsspec; run: pip install 'fairexp[remote]', or give a local folder"
            ) from error
        self.place = url
        self._open = url_to_fs
        self._own = threading.local()
        self._folders: set[str] = set()
        try:
            self._own.files, self._top = url_to_fs(url)
        except (ValueError, ImportError) as error:
            raise ArgumentError("records", repr(url), "a folder, or a URL that fsspec can open", str(error)) from error

    @property
    def _files(self) -> Any:
        if not hasattr(self._own, "files"):
            self._own.files, _ = self._open(self.place)
        return self._own.files

    def _path(self, name: str) -> str:
        return f"{self._top.rstrip('/')}/{name}"

    def write(self, name: str, text: str) -> None:
        path = self._path(name)
        folder, _, _ = path.rpartition("/")
        if folder not in self._folders:
            self._files.makedirs(folder, exist_ok=True)
            self._folders.add(folder)
        draft = f"{folder}/.{secrets.token_hex(6)}{_DRAFT}"
        self._files.pipe_file(draft, text.encode("utf-8"))
        self._files.mv(draft, path)

    def read(self, name: str) -> str | None:
        try:
            content: bytes = self._files.cat_file(self._path(name))
        except FileNotFoundError:
            return None
        return content.decode("utf-8")

    def names(self, folder: str) -> set[str]:
        self._files.invalidate_cache()
        top = self._path(folder).lstrip("/")
        found = (path for path in self._files.find(self._path(folder)) if not path.endswith(_DRAFT))
        return {path.lstrip("/").removeprefix(top).lstrip("/") for path in found}

    def delete(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._files.rm_file(self._path(name))
