"""Whom a server lets in, told at its start: the first one makes an admin key, in a file for its owner alone."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from fairexp.cli.entry import error_console
from fairexp.errors import ArgumentError

if TYPE_CHECKING:
    from fairexp.service.store import Key, Store

FIRST_KEY = "first admin"
POSTGRES_FILE = "fairexp-admin.key"


def check_open(option: str, address: str, host: str) -> None:
    """Refuse to open a server to everybody who reaches it, unless that is this machine, and no key says otherwise."""
    from fairexp.cli.stores import opened_store
    from fairexp.service.http.keys import is_loopback

    remedy = f"Without {option} a key is needed, and the first start makes one."
    if not is_loopback(host):
        raise ArgumentError(
            "--host", repr(host), f"an address of this machine, such as 127.0.0.1, with {option}", remedy
        )
    with opened_store(address) as store:
        in_force = _in_force(store)
    if in_force:
        remedy = f"Start without {option}, or revoke them: fairexp keys revoke ID"
        raise ArgumentError(option, f"one with {_count(in_force)}", "a store without keys in force", remedy)
    _say(f"Open ({option}): everybody on this machine may do everything, without a key.", "yellow")
    _say("For trying it out only. Put no proxy in front of it: its visitors would be let in.", "yellow")


def prepare_keys(address: str, *, key_file: Path | None, url: str) -> None:
    """Make a key if the store never had one, and say who is let in; the server at `url` is closed to everybody else."""
    from fairexp.cli.stores import opened_store
    from fairexp.service.http.keys import key_of

    path = key_file_of(address) if key_file is None else key_file
    with opened_store(address) as store:
        if not store.keys():
            make_first_key(store, path)
            _introduce(path, url)
            return
        in_force = _in_force(store)
    if not in_force:
        _say("All keys are revoked: nobody is let in. Make a new one: fairexp keys add NAME --role admin", "yellow")
        return
    _say(f"{_count(in_force)} in force; nobody is let in without one. More: fairexp keys add NAME --role ROLE")
    if path.exists() and os.access(path, os.R_OK):
        known = key_of(path.read_text(errors="replace").strip(), in_force) is not None
        other = "is not one of them: it was revoked, or is another store's"
        _say(f"The key in {path} {'is one of them' if known else other}.", "" if known else "yellow")


def key_file_of(address: str) -> Path:
    """Where the first key goes by default: beside an SQLite file, or in the working directory.

    >>> [str(key_file_of(address)) for address in ("data/fairexp.db", "postgresql://localhost/fairexp")]
    ['data/fairexp.db.admin-key', 'fairexp-admin.key']
    """
    if "://" in address:
        return Path(POSTGRES_FILE)
    path = Path(address)
    path = Path(os.path.realpath(path)) if path.is_symlink() else path
    return path.with_name(path.name + ".admin-key")


def make_first_key(store: Store, path: Path) -> None:
    """An admin key in the store, and its token in a new file; neither without the other."""
    from fairexp.service.http.keys import key_added, new_key

    key, token = new_key(name=FIRST_KEY, roles=["admin"])
    file = _new_file(path)
    try:
        with os.fdopen(file, "w") as opened:
            opened.write(token + "\n")
            opened.flush()
            os.fsync(opened.fileno())
        store.commit(key_added(key, by="the first start"))
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def _new_file(path: Path) -> int:
    try:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ArgumentError(
            "--key-file",
            f"{path}, which is there",
            "a file that is not there yet, for the first key of this store",
            "The key in it is not in force here. Remove the file, or name another with --key-file.",
        ) from None
    except OSError as error:
        raise ArgumentError(
            "--key-file", path, f"a place where a file can be made ({error.strerror})", "Name another with --key-file."
        ) from None


def _in_force(store: Store) -> dict[str, Key]:
    return {key.id: key for key in store.keys() if key.revoked_at is None}  # noqa: SIM118


def _count(keys: dict[str, Key]) -> str:
    return f"{len(keys)} key{'' if len(keys) == 1 else 's'}"


def _introduce(path: Path, url: str) -> None:
    place = path.absolute()
    _say("First start: nobody is let in without a key, so here is one that may do everything:", "bold")
    _say(f"\n    {place}    (only you can read it)\n", "bold green")
    _say("Use it:\n")
    _say(f"    export FAIREXP_KEY=$(cat {shlex.quote(str(place))})", "cyan")
    _say(f'    curl -H "Authorization: Bearer $FAIREXP_KEY" {url}/v1/policies', "cyan")
    _say(f"\nThe page at {url}/ asks for it. For others make keys that may do less:\n")
    _say("    fairexp keys add NAME --role rank --role feedback --policy POLICY\n", "cyan")


def _say(text: str, style: str = "") -> None:
    error_console().print(text, style=style, markup=False, soft_wrap=True)
