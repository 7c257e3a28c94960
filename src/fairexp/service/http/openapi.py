"""The OpenAPI document: bodies are read by ourselves, for speed, and documented from the same forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from msgspec import Struct
from msgspec.json import schema_components
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from fairexp import __version__
from fairexp.service.http.schemas import ErrorAnswer
from fairexp.service.requests.forms import EXAMPLES

REFERENCE = "#/components/schemas/{name}"
Body = type[BaseModel] | type[Struct]
_BODIES: set[Body] = set()
MEANINGS = {
    400: "The body did not arrive whole.",
    401: "No valid key.",
    403: "The key lacks the role, or is for other policies, or the host is not allowed.",
    404: "There is no such policy, ranking or item.",
    408: "The body did not come in time.",
    409: "A limit of this server is reached, or the request id was used for other candidates.",
    410: "The ranking's record has expired.",
    413: "The body is too large.",
    422: "Something in the request is wrong; `field` says what.",
    429: "Too many requests with this key, or without a valid one.",
    503: "Starting, too much waits, or the store cannot keep anything; try again after `Retry-After`.",
}


def documented(
    body: Body | Sequence[Body] | None,
    result: type[BaseModel],
    *,
    refusals: tuple[int, ...] = (),
    many: bool = False,
) -> dict[str, Any]:
    """Arguments for a route: what goes in, what comes out, and the error shape for what is refused."""
    responses: dict[int, dict[str, Any]] = {200: {"model": result}}
    of_bodies = () if body is None else (408, 413)
    for status in sorted({*refusals, *of_bodies, 400, 401, 403, 422, 429, 503}):
        responses[status] = {"model": ErrorAnswer, "description": MEANINGS[status]}
    arguments: dict[str, Any] = {"responses": responses, "response_model": None}
    if body is not None:
        models = [body] if isinstance(body, type) else list(body)
        _BODIES.update(models)
        references = [{"$ref": REFERENCE.format(name=model.__name__)} for model in models]
        schema: dict[str, Any] = references[0] if len(references) == 1 else {"anyOf": references}
        if many:
            schema = {"anyOf": [schema, {"type": "array", "items": schema}]}
        arguments["openapi_extra"] = {
            "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}
        }
    return arguments


def _body_schemas() -> dict[str, Any]:
    bodies = sorted(_BODIES, key=lambda body: body.__name__)
    models = [(body, "validation") for body in bodies if issubclass(body, BaseModel)]
    _, of_models = models_json_schema(models, ref_template=REFERENCE.format(name="{model}"))  # type: ignore[arg-type]
    _, of_forms = schema_components([body for body in bodies if issubclass(body, Struct)], ref_template=REFERENCE)
    for form, example in EXAMPLES.items():
        of_forms[form.__name__]["examples"] = [example]
    return {**of_models.get("$defs", {}), **of_forms}


def add_openapi(app: FastAPI) -> None:
    """Serve the document with the bodies' schemas and the two ways to pass a key."""

    def build() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = get_openapi(
                title="fairexp",
                version=__version__,
                summary="Rank, learn from clicks, and keep the exposure of provider groups fair at every step.",
                routes=app.routes,
            )
            components = document.setdefault("components", {})
            components.setdefault("schemas", {}).update(_body_schemas())
            components["securitySchemes"] = {
                "bearer": {"type": "http", "scheme": "bearer"},
                "key": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            }
            document["security"] = [{"bearer": []}, {"key": []}]
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = build  # type: ignore[method-assign]
