"""The client's answers are what the service documents, and clients are twins."""

from __future__ import annotations

import inspect
import json

import msgspec
import pytest

from fairexp.client import AsyncClient, Client, ClientError, answers
from fairexp.client.calls import Call, refusal
from fairexp.service.http import schemas

DOCUMENTED = {
    answers.Refusal: schemas.Problem,
    answers.Item: schemas.RankedItem,
    answers.RankedList: schemas.RankAnswer,
    answers.FeedbackOutcome: schemas.FeedbackResult,
    answers.Change: schemas.PolicyAnswer,
    answers.Version: schemas.VersionInfo,
    answers.Policy: schemas.PolicyInfo,
    answers.Fairness: schemas.FairnessAnswer,
    answers.Record: schemas.RankingInfo,
    answers.KnownUser: schemas.UserInfo,
}


@pytest.mark.parametrize("form", DOCUMENTED, ids=lambda form: form.__name__)
def test_every_field_is_one_that_the_service_documents_and_none_is_left_out(form: type[msgspec.Struct]) -> None:
    assert {field.name for field in msgspec.structs.fields(form)} == set(DOCUMENTED[form].model_fields)


def methods(client: type) -> dict[str, inspect.Signature]:
    found = inspect.getmembers(client, inspect.isfunction)
    return {name: inspect.signature(method) for name, method in found if not name.startswith("_")}


def test_both_clients_have_the_same_methods_with_the_same_parameters() -> None:
    assert methods(Client) == methods(AsyncClient)
    assert {"rank", "feedback", "policies", "ranking"} <= methods(Client).keys()
    assert all(method.return_annotation != "Any" for method in methods(Client).values())


def test_what_a_newer_service_adds_is_left_out_and_what_is_no_answer_is_refused() -> None:
    call = Call(list[answers.Action], "GET", "/v1/actions", inside="actions")
    entry = {"number": 1, "at": 2.0, "by": "b", "action": "a", "policy": None, "newer": 3}
    assert call.value(200, json.dumps({"actions": [entry]}).encode()) == [answers.Action(1, 2.0, "b", "a", None)]
    for content in (b"<html>", b"[]", b"{}", b'{"actions": [{}]}'):
        with pytest.raises(ClientError, match="expected an answer of fairexp's service") as caught:
            call.value(200, content)
        assert caught.value.code == "not_understood"


@pytest.mark.parametrize("content", [b"<html>", b"", b"[]", b'{"error": "no"}'])
def test_a_refusal_in_another_form_is_told_by_its_status(content: bytes) -> None:
    found = refusal(502, content)
    assert (found.status, found.code, str(found)) == (502, "unknown", "the service answered 502")
