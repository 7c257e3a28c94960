"""Who may do what: API keys with roles, stored as hashes, and the rule for a server that is open to its machine."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairexp.errors import ArgumentError
from fairexp.service.policies.spec import NAME
from fairexp.service.problems import ServiceError
from fairexp.service.store.base import AddAction, AddKey, Key, RevokeKey, Store, Write

ROLES = ("rank", "feedback", "read", "admin")
PUBLIC = "public"
_TOKEN = re.compile(r"fx_([0-9a-f]{12})_([0-9a-f]{48})")
FORWARDING = (
    "forwarded",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
    "cf-connecting-ip",
    "via",
)
_NOBODY = hashlib.sha256(b"nobody").digest()


def new_key(
    *,
    name: str,
    roles: Sequence[str],
    policies: Sequence[str] = (),
    rate: float | None = None,
    now: float | None = None,
) -> tuple[Key, str]:
    """A key that is in no store yet, and its token, which is told this once; without `policies` it is for all."""
    if not roles or any(role not in ROLES for role in roles):
        raise ArgumentError("role", ", ".join(roles) or "none", "one or more of " + ", ".join(ROLES))
    if not 1 <= len(name) <= 100 or not name.isprintable():
        raise ArgumentError("name", repr(name), "1 to 100 printable characters")
    if rate is not None and not 0 < rate < 1e9:
        raise ArgumentError("rate", rate, "a number of requests per second above 0")
    for policy in policies:
        if not NAME.fullmatch(policy):
            raise ArgumentError("policy", repr(policy), "the name of a policy: small letters, digits, - and _")
    key_id, secret = secrets.token_hex(6), secrets.token_hex(24)
    digest = hashlib.sha256(secret.encode()).digest()
    at, limits = time.time() if now is None else now, tuple(sorted(set(policies)))
    key = Key(key_id, name, digest, tuple(sorted(set(roles))), at, rate, policies=limits)
    return key, f"fx_{key_id}_{secret}"


def make_key(store: Store, *, by: str = "unknown", **options: Any) -> tuple[Key, str]:
    """A new key in the store, and its token; options as for `new_key`. That `by` made it is recorded."""
    key, token = new_key(**options)
    store.commit(key_added(key, by=by))
    return key, token


def key_added(key: Key, *, by: str) -> list[Write]:
    """What the store is to keep of a new key."""
    details = {"roles": list(key.roles), "policies": list(key.policies)}
    return [AddKey(key), AddAction(key.at, by, f"made key {key.id} ({key.name})", None, details)]


def revoke_key(store: Store, key_id: str, *, by: str = "unknown", now: float | None = None) -> Key:
    """Put an end to a key; which one it was. That `by` did it is recorded."""
    known = {key.id: key for key in store.keys() if key.revoked_at is None}  # noqa: SIM118
    if key_id not in known:
        raise ArgumentError("id", repr(key_id), "the id of a key that is in force", "`fairexp keys list` shows them.")
    at, key = time.time() if now is None else now, known[key_id]
    store.commit([RevokeKey(key_id, at), AddAction(at, by, f"revoked key {key.id} ({key.name})")])
    return key


def key_of(token: str | None, keys: Mapping[str, Key]) -> Key | None:
    """The key among `keys`, by id, that a token is the secret of; takes as long whether there is one or not."""
    found = _TOKEN.fullmatch(token or "")
    key = keys.get(found.group(1)) if found else None
    digest = hashlib.sha256(found.group(2).encode() if found else b"").digest()
    return key if hmac.compare_digest(digest, key.digest if key else _NOBODY) else None


def is_loopback(host: str) -> bool:
    """Whether a host name or address reaches this machine only.

    >>> [is_loopback(host) for host in ("127.0.0.1", "LOCALHOST", "::1", "0.0.0.0", "example.org")]
    [True, True, True, False, False]
    """
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _check_local(headers: Mapping[str, str]) -> None:
    """A 403 unless a request comes from this machine for itself.

    A page on the web could have its name resolve to this machine, or post a form to it; a proxy could pass on what
    others ask. Their requests carry the page's name as host or origin, or say for whom they are. A proxy that says
    nothing cannot be told apart, so a server is open only where it is told to be.
    """
    origin = re.sub(r"^https?://", "", headers.get("origin", "localhost"))
    for header, name in (("host", headers.get("host", "")), ("origin", origin)):
        if not is_loopback(re.sub(r":\d+$", "", name)):
            raise ServiceError("host_not_allowed", f"{header}: an open server answers localhost only", status=403)
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        raise ServiceError("host_not_allowed", "origin: an open server answers no other site", status=403)
    for header in FORWARDING:
        if header in headers:
            raise ServiceError("host_not_allowed", f"{header}: an open server answers no proxy", status=403)


@dataclass(slots=True)
class _Bucket:
    """Requests that a key may still make now."""

    tokens: float
    at: float


class Access:
    """Decides on requests from the keys that are in force; `keys` is replaced as a whole when they change.

    `open` lets everybody on this machine do everything, until there is a key in force: that closes it for good.
    """

    def __init__(self, *, open: bool, default_rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.keys: dict[str, Key] = {}
        self.known = False
        self.open = open
        self._default_rate = default_rate
        self.clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def use(self, keys: Sequence[Key]) -> None:
        """Go by these keys from now on."""
        self.keys = {key.id: key for key in keys if key.revoked_at is None}
        self.open = self.open and not self.keys
        self.known = True
        self._buckets = {key_id: bucket for key_id, bucket in self._buckets.items() if key_id in self.keys}

    def check(self, role: str, *, token: str | None, headers: Mapping[str, str]) -> Key | None:
        """The key that allows this, or a 401, 403 or 429; None where none is needed. `headers` are in small letters."""
        if role == PUBLIC:
            return None
        if not self.known:
            raise ServiceError("starting", "the service is starting; try again shortly", status=503, retry_after=1.0)
        if self.open:
            _check_local(headers)
            return None
        key = self._identified(token)
        if role not in key.roles and "admin" not in key.roles:
            raise ServiceError("not_allowed", f"authorization: this key lacks the role {role!r}", status=403)
        self._spend(key)
        return key

    def _identified(self, token: str | None) -> Key:
        key = key_of(token, self.keys)
        if key is None:
            raise ServiceError(
                "not_authenticated",
                "authorization: expected a valid key, as `Authorization: Bearer fx_...`",
                status=401,
                field="authorization",
            )
        return key

    def _spend(self, key: Key) -> None:
        rate = key.rate or self._default_rate
        if not rate:
            return
        now, most = self.clock(), max(rate, 1.0)
        bucket = self._buckets.setdefault(key.id, _Bucket(most, now))
        bucket.tokens = min(most, bucket.tokens + (now - bucket.at) * rate)
        bucket.at = now
        if bucket.tokens < 1.0:
            wait = (1.0 - bucket.tokens) / rate
            raise ServiceError("too_many_requests", f"rate: at most {rate:g} per second", status=429, retry_after=wait)
        bucket.tokens -= 1.0
