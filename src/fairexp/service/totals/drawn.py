"""What would have become of the accounts had the host's own draw been shown each time, and what fairness cost.

Both follow from the log alone: an entry has the draw from which the ranking was made, down to the last one shown.

- The accounts: each round the groups of the host's draw are charged what the positions of the shown list were charged,
  and corrected by what was measured at these positions. It is an approximation: with its own draws shown, the host
  would have seen other clicks and learned something else, so that later draws would have been others.
- The cost: the clicks that the host's draw was expected to bring less those of what was shown. A position is looked at
  as often as the policy's curve says. A candidate that is looked at is clicked with the probability
  sigma(a (s - m) + b), where s is its score, a the log-odds of a click for each unit of score as far as clicks have
  borne that out (`Ranker.click_log_odds`), m the mean score of the shown list, weighted by the attention to its
  positions, and b the log-odds of a click by all that was looked at so far. It is what the model expects, and as
  a rule too little: what nobody looked at is not clicked either, so that preferences look weaker than they are. In
  worlds whose truth is known it came to between half and seven tenths of the true cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np

from fairexp.arrays import Floats, Ints, State
from fairexp.fairness.account import Account
from fairexp.fairness.fairexp import FairExp
from fairexp.fairness.ledger import Ledger
from fairexp.rankers.base import Ranker
from fairexp.rankers.matching import Matching
from fairexp.service.log.shown import Shown, groups_of
from fairexp.service.policies.constraints import ConstraintSpec

MOST = 0.99
"""No candidate that is looked at counts as surer to be clicked than this on average, however short the curve falls."""

LEDGERS = "ledgers."


class DrawnAccounts:
    """An account for each constraint that is charged what the host would have shown; none for other rankers."""

    def __init__(self, ranker: Ranker, specs: Sequence[ConstraintSpec]) -> None:
        own = ranker.accounts if isinstance(ranker, FairExp) else ()
        self.accounts = tuple(Account(each.constraint, ranker.n_features, prefix=each.prefix) for each in own)
        self._attributes = [each.attributes for each in specs]
        self._shares = [each.fixed_shares for each in specs]

    def groups(self, shown: Shown) -> list[Ints]:
        """By constraint the groups (m,) of what the host would have shown; nothing for other rankers."""
        if not self.accounts:
            return []
        drawn = shown.drawn
        return [groups_of(shown.considered, attributes)[drawn] for attributes in self._attributes]

    def show(self, shown: Shown, groups: Sequence[Ints], exposure: Floats) -> list[float]:
        """Charge what the host would have shown in the place of this ranking; by constraint the gap after that."""
        gaps = []
        for number, (account, of_drawn) in enumerate(zip(self.accounts, groups, strict=True)):
            learned = shown.accounts[number].shares
            shares = self._shares[number] if learned is None else learned
            assert shares is not None
            account.book(_key(account, shown), shown.number, of_drawn, exposure, shares)
            gaps.append(account.ledger.largest_gap)
        return gaps

    def measure(self, shown: Shown, groups: Sequence[Ints], exposures: tuple[Floats, Floats]) -> None:
        """Put the second of `exposures` (m,) by position in the place of the first, as if they were of the draw."""
        for account, of_drawn in zip(self.accounts, groups, strict=True):
            account.correct(_key(account, shown), shown.number, of_drawn, exposures, shown.memory)

    def gap(self, number: int, shares: Floats) -> float | None:
        """The largest gap that a constraint would have by the shares (G,) of now; None for rankers without a draw.

        Where there is an account for each query or segment it is that of the latest one, as it was then.
        """
        if not self.accounts:
            return None
        own = self.accounts[number]
        return (Ledger(shares, own.ledger.balance) if own.constraint.per is None else own.ledger).largest_gap

    def take_over(self, before: DrawnAccounts, matching: Matching) -> None:
        """Go on from the accounts of constraints of the same names."""
        known = {account.constraint.name: account for account in before.accounts}
        for account in self.accounts:
            if account.constraint.name in known:
                account.take_over(known[account.constraint.name], matching)

    def state(self) -> State:
        """All of it as arrays."""
        return {
            f"{number}.{key}": value
            for number, account in enumerate(self.accounts)
            for key, value in account.state().items()
            if key.startswith(LEDGERS)
        }

    def restore(self, arrays: State) -> None:
        """Hold what a `state()` holds."""
        for number, account in enumerate(self.accounts):
            begins = f"{number}."
            own = {key.removeprefix(begins): value for key, value in arrays.items() if key.startswith(begins)}
            account.restore({**account.state(), **own})


def expected_clicks(
    shown: Shown, attention: Floats, *, rate: tuple[float, float], log_odds: float | None
) -> tuple[float, float]:
    """The clicks expected of a ranking, and of what the host would have shown; 0 where scores say nothing.

    `attention` (m,) is how often positions are looked at, `rate` the clicks and the attention so far, `log_odds` what a
    unit of score says about clicks.
    """
    if log_odds is None:
        return 0.0, 0.0
    clicks, looked_at = rate
    typical = min((clicks + 1.0) / (looked_at + 2.0), MOST)
    scores = shown.considered.scores.astype(np.float64)
    odds = log_odds * scores[np.concatenate([shown.place, shown.drawn])].reshape(2, -1)
    mean = float(odds[0] @ attention) / (float(attention.sum()) or 1.0)
    base = log(typical / (1.0 - typical)) - mean
    clicked = 1.0 / (1.0 + np.exp(np.minimum(-(odds + base), 500.0)))
    own, drawn = (clicked @ attention).tolist()
    return own, drawn


def _key(account: Account, shown: Shown) -> str | None:
    """Which of an account's ledgers a ranking belongs to."""
    per = account.constraint.per
    return None if per is None else shown.query if per == "query" else shown.segment
