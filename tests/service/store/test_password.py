"""PostgreSQL's password from a file, as containers are given secrets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from fairexp.service.problems import StoreError
from fairexp.service.store import open_store
from tests.service.conftest import new_database


def addressed(url: str, file: Path) -> str:
    return f"{url}{'&' if '?' in url else '?'}password_file={file}"


def test_the_file_is_read_for_every_connection(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []
    connect = psycopg.connect

    def noted(url: str, **options: Any) -> Any:
        assert "password_file" not in url
        given.append(options.get("password"))
        return connect(url, **options)

    file, url = tmp_path / "password", new_database(postgres_url)
    monkeypatch.setattr(psycopg, "connect", noted)
    file.write_text(" first secret\n")
    store = open_store(addressed(url, file))
    store.open(serving=True)
    file.write_text("second")
    assert store.keys() == []
    store.close()
    assert list(dict.fromkeys(given)) == [" first secret", "second"]


def test_a_file_that_cannot_be_read_is_named(postgres_url: str, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"password_file: expected a file that can be read, got .*none \(No such file"):
        open_store(addressed(postgres_url, tmp_path / "none")).open(serving=False)
