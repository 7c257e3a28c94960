"""Who may do what: API keys with roles, stored as hashes, and the rule for a server that is open to its machine."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fairexp.errors import ArgumentError
from fairexp.service.http.tally import Tally
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
MOST_ADDRESSES = 10_000
"""Addresses whose rate is known at once; beyond, those that asked longest ago begin with a full second."""


class StrangerError(ServiceError):
    """Nobody with a valid key: a 401, or a 429 where that came too often. Requests like it share a line of the log."""


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


def network_of(address: str) -> str:
    """What stands for whoever asks from this address: of IPv6 the first 64 bits, for the rest is theirs to choose.

    >>> [network_of(address) for address in ("203.0.113.7", "::ffff:203.0.113.7", "2001:db8::1", "localhost", "")]
    ['203.0.113.7', '203.0.113.7', '2001:db8::/64', 'unknown', 'unknown']
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return "unknown"
    if isinstance(found, ipaddress.IPv4Address):
        return str(found)
    return str(found.ipv4_mapped or ipaddress.IPv6Network((int(found) >> 64 << 64, 64)))


class Rates:
    """How often each of many may ask: what one did not use comes back at its rate, up to that of a second.

    At most `most` are remembered, those that asked last.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """By name how many requests were left, and when that was."""

    def __len__(self) -> int:
        return len(self._left)

    def spend(self, name: str, rate: float, now: float) -> float:
        """Take one request of `name`; 0, or how many seconds from `now` there will be one. A rate of 0 is no limit."""
        if not rate:
            return 0.0
        most = max(rate, 1.0)
        left, at = self._left.pop(name, (most, now))
        left = min(most, left + (now - at) * rate)
        wait = max(1.0 - left, 0.0) / rate
        self._left[name] = (left if wait else left - 1.0, now)
        if len(self._left) > self._most:
            self._left.popitem(last=False)
        return wait


class Access:
    """Decides on requests from the keys that are in force; `keys` is replaced as a whole when they change.

    `open` lets everybody on this machine do everything, until there is a key in force: that closes it for good.
    `refused` counts, by network, requests without a valid key.
    """

    def __init__(
        self,
        *,
        open: bool,
        default_rate: float = 0.0,
        stranger_rate: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.keys: dict[str, Key] = {}
        self.known = False
        self.open = open
        self.clock = clock
        self.refused = Tally[str]()
        self.strangers = Rates(MOST_ADDRESSES)
        self._default_rate, self._stranger_rate = default_rate, stranger_rate
        self._rates = Rates(MOST_ADDRESSES)

    def use(self, keys: Sequence[Key]) -> None:
        """Go by these keys from now on."""
        self.keys = {key.id: key for key in keys if key.revoked_at is None}
        self.open = self.open and not self.keys
        self.known = True

    def check(self, role: str, *, token: str | None, headers: Mapping[str, str], address: str = "") -> Key | None:
        """The key that allows this, or a 401, 403 or 429; None where none is needed. `headers` are in small letters."""
        if role == PUBLIC:
            return None
        if not self.known:
            raise ServiceError("starting", "the service is starting; try again shortly", status=503, retry_after=1.0)
        if self.open:
            _check_local(headers)
            return None
        key = key_of(token, self.keys)
        if key is None:
            raise self._stranger(network_of(address))
        if role not in key.roles and "admin" not in key.roles:
            raise ServiceError("not_allowed", f"authorization: this key lacks the role {role!r}", status=403)
        rate = key.rate or self._default_rate
        wait = self._rates.spend(key.id, rate, self.clock())
        if wait:
            raise ServiceError("too_many_requests", f"rate: at most {rate:g} per second", status=429, retry_after=wait)
        return key

    def _stranger(self, network: str) -> StrangerError:
        self.refused.note(network)
        wait = self.strangers.spend(network, self._stranger_rate, self.clock())
        expected = "expected a valid key, as `Authorization: Bearer fx_...`"
        if not wait:
            return StrangerError("not_authenticated", f"authorization: {expected}", status=401, field="authorization")
        return StrangerError(
            "too_many_requests",
            f"authorization: {expected}; without one an address may make {self._stranger_rate:g} requests per second "
            "(setting unauthenticated_per_second)",
            status=429,
            field="authorization",
            retry_after=wait,
        )
