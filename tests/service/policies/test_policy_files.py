"""A file of policies and what was changed over the API since: which one wins is never guessed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fairexp.service.changes import preview
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.problems import ServiceError
from fairexp.service.store import open_store
from tests.service.live import Live
from tests.service.worlds import GROUPS, SPEC, rank_body
from tests.waiting import until

PLAIN = SPEC.model_dump(mode="json")
URL = "/v1/policies/shop"


def restarted(live: Callable[..., Live], running: Live, address: str, spec: PolicySpec, **options: Any) -> Live:
    running.stop()
    return live(address, policies={"shop": spec}, **options)


def test_a_file_goes_on_from_what_a_file_said(live: Callable[..., Live], address: str) -> None:
    running = restarted(live, live(address), address, SPEC.model_copy(update={"tolerance": 0.5}))
    versions = running.client.get(URL).json()["versions"]
    assert [(each["origin"], each["by"]) for each in versions] == [("file", "the policy file")] * 2


def test_an_older_file_is_refused_with_the_difference_unless_told_which_wins(
    live: Callable[..., Live], address: str
) -> None:
    problems: list[Exception] = []
    running = live(address)
    running.client.put(URL, json={**PLAIN, "tolerance": 0.5})
    running = restarted(live, running, address, SPEC, wait=False, fatal=problems.append)
    until(lambda: problems)
    difference = "tolerance: 0.3 in the file, 0.5 in force"
    for told in ("changed over the API by open", difference, "--prefer file", "--prefer store"):
        assert told in str(problems[0])
    running = restarted(live, running, address, SPEC, prefer="store")
    assert running.client.get(URL).json()["spec"]["tolerance"] == 0.5
    running = restarted(live, running, address, SPEC, prefer="file")
    assert running.client.get(URL).json()["spec"]["tolerance"] == 0.3
    assert restarted(live, running, address, SPEC).client.get(URL).json()["version"] == 3


def test_a_policy_that_was_deleted_does_not_come_back_by_itself(live: Callable[..., Live], address: str) -> None:
    problems: list[Exception] = []
    running = live(address, policies={"shop": SPEC, "other": SPEC})
    running.client.delete(URL, params={"discard": True})
    running.stop()
    both = {"shop": SPEC, "other": SPEC}
    running = live(address, policies=both, wait=False, fatal=problems.append)
    until(lambda: problems)
    assert "deleted over the API" in str(problems[0]) and "--prefer" in str(problems[0])
    running.stop()
    running = live(address, policies=both, prefer="store")
    assert [each["policy"] for each in running.client.get("/v1/policies").json()["policies"]] == ["other"]
    running.stop()
    running = live(address, policies=both, prefer="file")
    assert running.client.get(URL).json()["rounds"] == 0


def test_a_dry_run_of_a_file_tells_what_a_start_would_do(live: Callable[..., Live], address: str) -> None:
    running = live(address)
    running.client.put(URL, json={**PLAIN, "tolerance": 0.5})
    running.stop()
    store = open_store(address)
    store.open(serving=False)
    declared = {"shop": SPEC, "new": SPEC}
    with pytest.raises(ServiceError, match=r"tolerance: 0\.3 in the file, 0\.5 in force"):
        list(preview(store, declared))
    kept = dict(preview(store, declared, prefer="store"))
    assert not kept["shop"].changed and kept["new"].action == "created"
    told = dict(preview(store, declared, prefer="file"))["shop"]
    assert (told.version, told.dry_run, told.differences) == (3, True, ["tolerance: 0.5, now 0.3"])
    store.close()


def test_a_reset_over_the_api_leaves_the_file_in_charge(live: Callable[..., Live], sqlite_address: str) -> None:
    running = live(sqlite_address)
    running.client.post(f"{URL}/reset", params={"what": "ledger"})
    running = restarted(live, running, sqlite_address, SPEC.model_copy(update={"tolerance": 0.5}))
    assert running.client.get(URL).json()["version"] == 3


def test_a_file_that_would_lose_something_is_refused_unless_told(live: Callable[..., Live], address: str) -> None:
    problems: list[Exception] = []
    narrow = SPEC.model_copy(update={"groups": {"large": 1.0, "other": 1.0}})
    running = live(address)
    running.client.post(f"{URL}/rank", json=rank_body())
    running = restarted(live, running, address, narrow, wait=False, fatal=problems.append)
    until(lambda: problems)
    assert f"the account of group {GROUPS[0]!r}" in str(problems[0]) and "--discard" in str(problems[0])
    running = restarted(live, running, address, narrow, discard=True)
    assert list(running.client.get(URL).json()["spec"]["groups"]) == ["large", "other"]
