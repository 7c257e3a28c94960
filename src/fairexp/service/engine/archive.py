"""What was shown before, as the store has it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fairexp.service.engine.live_policy import LivePolicy, records_of
from fairexp.service.log.feedback import Feedback
from fairexp.service.log.shown import Shown
from fairexp.service.problems import CorruptRecordError, ServiceError, StoreError, storage_unavailable
from fairexp.service.store.base import Append, Kind, Store
from fairexp.service.store.chain import checked

AT_ONCE = 10
"""Records that are read together, so that few are read in vain where they are large."""


class Archive:
    """Reads the records of a store; what is older than its policy keeps it is not there, be it dropped yet or not.

    `failed` is told when the store fails, or holds something else than was written.
    """

    def __init__(self, store: Store, *, clock: Callable[[], float], failed: Callable[[StoreError], None]) -> None:
        self._store, self._clock, self._failed = store, clock, failed

    def has_expired(self, live: LivePolicy, at: float) -> bool:
        """Whether a ranking of that time counts as forgotten."""
        return at < self._oldest(live)

    def _oldest(self, live: LivePolicy) -> float:
        """What is older counts as forgotten; of a policy that is not served that is not known, and an error."""
        return self._clock() - live.runtime.spec.retention.rankings_seconds

    def ranking(self, live: LivePolicy, seq: int) -> tuple[Shown, list[Feedback]]:
        """A ranking, with what came back for it; a 410 if its record has expired."""
        found = self.find(live, seq)
        if found is None:
            raise ranking_expired()
        return found

    def find(self, live: LivePolicy, seq: int) -> tuple[Shown, list[Feedback]] | None:
        """The same, or None if its record has expired."""
        oldest = self._oldest(live)
        with self.reading():
            entry = self._store.entry(live.row.policy, seq)
            if entry is None or not _is_there(entry, oldest):
                return None
            return records_of(entry, self._store.feedback(live.row.policy, seq))

    def earlier_pages(self, live: LivePolicy, seq: int) -> tuple[int, set[str]]:
        """Where the pages up to this ranking end, and what they have shown; a 410 if one has expired."""
        page = self._shown(live, seq)
        first, ids = page.first + len(page.shown), set(page.ids)
        while page.after is not None:
            page = self._shown(live, page.after)
            ids.update(page.ids)
        return first, ids

    def _shown(self, live: LivePolicy, seq: int) -> Shown:
        """A ranking, at hand or from the store."""
        opened = live.opened.get(seq)
        shown = self.ranking(live, seq)[0] if opened is None else opened.shown
        if self.has_expired(live, shown.at):
            raise ranking_expired()
        return shown

    def latest(
        self, live: LivePolicy, *, limit: int, most_bytes: int, before: int | None = None, query_id: str | None = None
    ) -> tuple[list[tuple[Shown, list[Feedback]]], bool]:
        """The latest rankings with what came back for each, newest first, below the entry `before` if given.

        Only those of one query where `query_id` is given. Fewer than `limit`, and True, where their records would
        take more than `most_bytes`; the first is always there.
        """
        policy, oldest, found, n_bytes = live.row.policy, self._oldest(live), list[tuple[Shown, list[Feedback]]](), 0
        with self.reading():
            while len(found) < limit:
                some = min(limit - len(found), AT_ONCE)
                entries = self._store.latest(policy, Kind.SHOWN, limit=some, before=before, query_id=query_id)
                for entry in entries:
                    if not _is_there(entry, oldest):
                        return found, False  # nor are those before it
                    feedback = self._store.feedback(policy, entry.seq)
                    n_bytes += len(entry.payload) + sum(len(each.payload) for each in feedback)
                    if found and n_bytes > most_bytes:
                        return found, True
                    found.append(records_of(entry, feedback))
                if len(entries) < some:
                    break
                before = entries[-1].seq
        return found, False

    def named(self, request_id: str) -> dict[int, tuple[int, float]]:
        """By policy: seq and time of the latest ranking that was made for `request_id`, expired ones included."""
        with self.reading():
            return self._store.named(request_id)

    def n_shown_to(self, user: str) -> int:
        """How many rankings name the user."""
        with self.reading():
            return self._store.shown_to(user)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A 503 if the store fails, a 500 if what is found is not what was written."""
        try:
            yield
        except CorruptRecordError as error:
            self._failed(error)
            raise ServiceError(
                "record_damaged",
                "the record of this ranking is not what was written, so it is not used; see the server's log",
                status=500,
            ) from error
        except StoreError as error:
            self._failed(error)
            raise storage_unavailable() from error


def _is_there(entry: Append, oldest: float) -> bool:
    return entry.kind == Kind.SHOWN and checked(entry).at >= oldest


def ranking_expired() -> ServiceError:
    """The 410 for a ranking whose record is older than its policy keeps it."""
    return ServiceError(
        "ranking_expired",
        "ranking_id: the record of this ranking has expired (retention.rankings_seconds of its policy)",
        status=410,
        field="ranking_id",
    )
