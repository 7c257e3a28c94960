"""Why a ranking is as it is: blocks, certain orders, who moved for fairness and past whom, and the ledger."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairexp.arrays import Floats, Ints
from fairexp.fairness.ledger import Ledger, amounts_by_group
from fairexp.registry import keeps_tolerance
from fairexp.service.log.records import Shown
from fairexp.service.policies.spec import PolicySpec


def explain(shown: Shown, spec: PolicySpec) -> dict[str, Any]:
    """The explanation of a recorded ranking, as plain data; `summary` says it in words."""
    moved = _moved(shown)
    told: dict[str, Any] = {
        "blocks": _blocks(shown),
        "certain_orders": _certain(shown),
        "moved": moved,
        "left_out": _left_out(shown),
        "added_regret": shown.added_regret,
        "qualified": shown.qualified,
        "tolerance": spec.tolerance if _is_fair(spec) else None,
        "ledger": _ledger(shown, spec),
    }
    told["summary"] = _in_words(shown, spec, told)
    return told


def _is_fair(spec: PolicySpec) -> bool:
    return keeps_tolerance(spec.ranker)


def _blocks(shown: Shown) -> list[list[str]]:
    """The considered candidates by block, best first: inside a block no certain order separates all of them."""
    blocks: dict[int, list[str]] = {}
    for name, block in zip(shown.considered.ids, shown.considered.block.tolist(), strict=True):
        blocks.setdefault(block, []).append(name)
    return [blocks[block] for block in sorted(blocks)]


def _certain(shown: Shown) -> list[dict[str, Any]]:
    """For each shown candidate: which others that are shown it certainly belongs above."""
    ids = shown.ids
    found = []
    for row, name in enumerate(ids):
        above = [ids[other] for other, place in enumerate(shown.place) if shown.considered.below[row, place]]
        if above:
            found.append({"item": name, "above": above})
    return found


def _moved(shown: Shown) -> list[dict[str, Any]]:
    """Candidates that stand higher than in the host's own draw: past whom, and against which certain orders."""
    known = shown.considered
    moved = []
    for position, place in enumerate(shown.place.tolist()):
        higher = set(shown.place[:position].tolist())
        passed = [other for other in range(place) if other not in higher]
        if passed:
            moved.append(
                {
                    "item": known.ids[place],
                    "position": position + 1,
                    "drawn_at": place + 1,
                    "past": [known.ids[other] for other in passed],
                    "against_certain_orders": [known.ids[other] for other in passed if known.above[position, other]],
                }
            )
    return moved


def _left_out(shown: Shown) -> list[str]:
    """Candidates that the draw had among the positions to fill, and that are not shown."""
    wanted = range(min(len(shown.shown), len(shown.considered.ids)))
    taken = set(shown.place.tolist())
    return [shown.considered.ids[place] for place in wanted if place not in taken]


def _ledger(shown: Shown, spec: PolicySpec) -> dict[str, Any] | None:
    if shown.spent is None or shown.groups is None or not spec.groups:
        return None
    shares = np.array(list(spec.groups.values()))
    charged: Floats = np.zeros(len(shares))
    if shown.exposure is not None:
        charged = amounts_by_group(shown.groups, shown.exposure, len(shares))
    after = shown.spent + charged
    return {
        "before": _account(shown.spent, shares, spec),
        "charged": dict(zip(spec.group_names, charged.tolist(), strict=True)),
        "after": _account(after, shares, spec),
    }


def _account(exposure: Floats, shares: Floats, spec: PolicySpec) -> dict[str, Any]:
    return {
        "exposure": dict(zip(spec.group_names, exposure.tolist(), strict=True)),
        "unfairness": named_gaps(exposure, shares, spec.group_names),
        "largest_gap": Ledger(shares, exposure).largest_gap,
    }


def named_gaps(exposure: Floats, shares: Floats, names: list[str]) -> list[dict[str, Any]]:
    """The signed gap of every pair of groups: positive where the first has had more than its due."""
    table = Ledger(shares, exposure).gaps()
    return [
        {"groups": [names[one], names[two]], "unfairness": float(table[one, two])}
        for one in range(len(names))
        for two in range(one + 1, len(names))
    ]


def _in_words(shown: Shown, spec: PolicySpec, told: dict[str, Any]) -> list[str]:
    groups: Ints | None = shown.considered.groups
    by_id = dict.fromkeys(shown.considered.ids, "")
    if groups is not None:
        by_id = {name: spec.group_names[group] for name, group in zip(shown.considered.ids, groups, strict=True)}
    lines = [_about_blocks(shown, told)]
    if _is_fair(spec):
        lines += [_about_move(move, by_id[move["item"]]) for move in told["moved"]]
        lines += _about_fairness(shown, spec, told)
    return lines


def _about_move(move: dict[str, Any], group: str) -> str:
    name = f"{move['item']} ({group})" if group else move["item"]
    if move["position"] < move["drawn_at"]:
        line = (
            f"{name} moved up from {move['drawn_at']} to position {move['position']} for fair exposure, past "
            f"{_some(move['past'])}."
        )
    else:  # it stands no higher than drawn: others moved, and some of them down
        line = f"{name} stands at position {move['position']}, now above {_some(move['past'])}, which had to make room."
    against = move["against_certain_orders"]
    if against:
        line += f" The ranker was sure that {_some(against)} {'belongs' if len(against) == 1 else 'belong'} above it."
    return line


def _about_blocks(shown: Shown, told: dict[str, Any]) -> str:
    n_blocks = len(told["blocks"])
    if not shown.believed:
        return "This ranker forms no certain orders; it explores by chance."
    if len(shown.considered.ids) == 1:
        return f"Only {shown.considered.ids[0]} came into question: the ranker drew it first."
    if n_blocks > 1:
        return f"The ranker kept an order between {n_blocks} blocks of candidates, and explored inside each."
    if shown.considered.above.any() or shown.considered.below.any():
        return "The ranker was sure of some orders, but not of enough to part these candidates, so it explored."
    return "The ranker was not yet sure of any order of these candidates, so it explored among them."


def _about_fairness(shown: Shown, spec: PolicySpec, told: dict[str, Any]) -> list[str]:
    lines = []
    if not told["moved"]:
        fair = "was fair already and " if shown.qualified else ""
        lines.append(f"The ranker's own draw {fair}is shown as it came.")
    elif shown.believed:
        lines.append(_about_regret(shown, sum(len(move["against_certain_orders"]) for move in told["moved"])))
    if told["ledger"] is not None:
        gap = told["ledger"]["after"]["largest_gap"]
        met = "within" if shown.qualified else "outside"
        lines.append(
            f"The largest gap in exposure between groups is {gap:.3f} after this ranking, {met} the tolerance of "
            f"{spec.tolerance:g}." + ("" if shown.qualified else " No ranking of these candidates could meet it.")
        )
    return lines


def _about_regret(shown: Shown, n_named: int) -> str:
    n_reversed = shown.added_regret
    if n_reversed == 0:
        return "No order that the ranker was sure of had to be reversed."
    if n_named != n_reversed:  # less sure ones count as well, by how probable they are
        return f"By what the ranker expects, that costs as much as reversing {n_reversed:g} orders that are sure."
    return f"{n_reversed:g} order{'s' if n_reversed > 1 else ''} that the ranker was sure of had to be reversed."


def _some(names: list[str]) -> str:
    shown, rest = names[:4], len(names) - 4
    text = ", ".join(shown)
    return f"{text} and {rest} more" if rest > 0 else text
