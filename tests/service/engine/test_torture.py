from __future__ import annotations

from tests.service.torture import torture


def test_ten_kills_lose_nothing(address: str) -> None:
    entries, said = torture(address, kills=10)
    assert len(said.rankings) > 50 and len(said.events) > 50
    assert entries > 100 and said.n_repeated > 5


def test_nor_where_queries_are_learned_of_by_themselves(sqlite_address: str) -> None:
    _, said = torture(sqlite_address, kills=4, seed=1, ranker="fairexp-toprank")
    assert len(said.rankings) > 10 and len(said.events) > 10
