"""What the service refuses, and how: each problem has a code and an HTTP status, and names the field it is about."""

from __future__ import annotations

from fairexp.errors import FairexpError
from fairexp.validation_messages import Mistake


class ServiceError(FairexpError):
    """A problem that the caller is told about, in the service's one error shape.

    >>> error = ServiceError("unknown_policy", "policy: no policy is called 'x'", status=404, field="policy")
    >>> error.status, error.code
    (404, 'unknown_policy')
    """

    def __init__(
        self, code: str, message: str, *, status: int = 422, field: str | None = None, retry_after: float | None = None
    ) -> None:
        self.code = code
        self.status = status
        self.field = field
        self.retry_after = retry_after
        super().__init__(message)


class AboveLimitError(ServiceError):
    """A 422 for a number above the limit that the `setting` of a policy sets.

    >>> print(AboveLimitError("weight", 1e6, most=100.0, setting="max_weight"))
    weight: expected at most 100, got 1e+06; the policy's setting max_weight may allow more
    """

    def __init__(self, field: str, given: float, *, most: float, setting: str) -> None:
        self.setting = setting
        message = f"{field}: expected at most {most:g}, got {given:g}; the policy's setting {setting} may allow more"
        super().__init__("above_limit", message, field=field)


class StoreError(FairexpError):
    """The store could not do what it was asked to: the disk is full, the database is gone, and the like."""


class StoreBusyError(StoreError):
    """Another server holds this store, or could hold it by another name."""


class CorruptRecordError(StoreError):
    """A record or a snapshot in the store is not what was written."""


def invalid(field: str, given: object, expected: str, remedy: str = "") -> ServiceError:
    """A 422 that names the field, what came, what was expected and what to do.

    >>> str(invalid("k", 0, "a whole number of at least 1"))
    'k: expected a whole number of at least 1, got 0'
    """
    message = f"{field}: expected {expected}, got {given}"
    return ServiceError("invalid", f"{message}. {remedy}" if remedy else message, field=field)


def misfit(mistake: Mistake) -> ServiceError:
    """A 422 about what does not fit what is documented; without a field of its own it is about the body."""
    field = mistake.field or "body"
    return ServiceError("invalid", str(mistake) if mistake.path else f"{field}: {mistake}", field=field)


def unknown_policy(name: str) -> ServiceError:
    """A 404: there is no such policy."""
    return ServiceError(
        "unknown_policy",
        f"policy: no policy is called {name[:80]!r}; GET /v1/policies lists them",
        status=404,
        field="policy",
    )


def policy_damaged(name: str, problem: StoreError) -> ServiceError:
    """A 503: what the store has of this policy is not what was written, and others serve."""
    return ServiceError(
        "policy_damaged",
        f"{problem} This policy alone is out of service. Without a backup, an admin key can save what is there "
        f"(GET /v1/policies/{name}/export), serve it again with nothing learned (POST /v1/policies/{name}/reset"
        f"?what=model&what=ledger), or delete it (DELETE /v1/policies/{name}?discard=true)",
        status=503,
        field="policy",
    )


def storage_unavailable() -> ServiceError:
    """A 503: nothing was acknowledged, and trying again is right."""
    return ServiceError(
        "storage_unavailable",
        "the store cannot keep anything at the moment, so nothing was done; try again shortly",
        status=503,
        retry_after=1.0,
    )
