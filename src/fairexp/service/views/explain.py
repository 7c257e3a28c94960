"""Why a ranking is as it is: blocks, certain orders, who moved for fairness and past whom, and the ledger."""

from __future__ import annotations

from typing import Any

from fairexp.fairness import FOUND, LEAST, UNPROVEN
from fairexp.registry import keeps_tolerance
from fairexp.service.log.shown import Shown
from fairexp.service.policies.spec import PolicySpec
from fairexp.service.views.accounts import reasons, told_accounts

LITTLE = 0.05
"""Orders reversed that are not worth a number."""


def explain(shown: Shown, spec: PolicySpec) -> dict[str, Any]:
    """The explanation of a recorded ranking, as plain data; `summary` says it in words."""
    moved, accounts = _moved(shown, spec), told_accounts(shown, spec, is_fair=_is_fair(spec))
    told: dict[str, Any] = {
        "blocks": _blocks(shown),
        "certain_orders": _certain(shown),
        "moved": moved,
        "left_out": _left_out(shown),
        "pinned": [name for position, name in enumerate(shown.ids) if _is_pinned(shown, position)],
        "added_regret": shown.added_regret,
        "qualified": shown.qualified,
        "proof": shown.proof,
        "gap_bound": shown.gap_bound,
        "tolerance": accounts[0]["tolerance"] if accounts else None,
        "ledger": accounts[0]["ledger"] if accounts else None,
        "constraints": accounts,
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


def _moved(shown: Shown, spec: PolicySpec) -> list[dict[str, Any]]:
    """Candidates that stand higher than in the host's own draw: past whom, why, and against which certain orders."""
    known = shown.considered
    moved = []
    for position, place in enumerate(shown.place.tolist()):
        higher = set(shown.place[:position].tolist())
        passed = [other for other in range(place) if other not in higher]
        if passed:
            moved.append(
                {
                    "item": known.ids[place],
                    "position": shown.first + position + 1,
                    "drawn_at": shown.first + place + 1,
                    "past": [known.ids[other] for other in passed],
                    "pinned": _is_pinned(shown, position),
                    "constraints": reasons(shown, spec, position, passed) if _is_fair(spec) else [],
                    "against_certain_orders": [known.ids[other] for other in passed if known.above[position, other]],
                }
            )
    return moved


def _is_pinned(shown: Shown, position: int) -> bool:
    return shown.pinned is not None and bool(shown.pinned[position])


def _left_out(shown: Shown) -> list[str]:
    """Candidates that the draw had among the positions to fill, and that are not shown."""
    wanted = range(min(len(shown.shown), len(shown.considered.ids)))
    taken = set(shown.place.tolist())
    return [shown.considered.ids[place] for place in wanted if place not in taken]


def _in_words(shown: Shown, spec: PolicySpec, told: dict[str, Any]) -> list[str]:
    lines = [_about_blocks(shown, told)]
    if _is_fair(spec):
        groups = _groups_by_id(shown, spec)
        several = len(told["constraints"]) > 1
        lines += [_about_move(move, groups[move["item"]], several=several) for move in told["moved"]]
        lines += _about_fairness(shown, told)
    return lines


def _groups_by_id(shown: Shown, spec: PolicySpec) -> dict[str, str]:
    """What each considered candidate is, in words: its group, or its label under each attribute."""
    known = shown.considered
    if known.labels:
        columns = [[spec.attributes[name][label] for label in labels] for name, labels in known.labels.items()]
        return {name: ", ".join(row) for name, row in zip(known.ids, zip(*columns, strict=True), strict=True)}
    if known.groups is None:
        return dict.fromkeys(known.ids, "")
    return {name: spec.group_names[group] for name, group in zip(known.ids, known.groups, strict=True)}


def _about_move(move: dict[str, Any], group: str, *, several: bool) -> str:
    name = f"{move['item']} ({group})" if group else move["item"]
    if move["pinned"]:
        return f"{name} was pinned to position {move['position']}, past {_some(move['past'])}."
    if move["position"] < move["drawn_at"]:
        by = f" ({' and '.join(move['constraints'])})" if several and move["constraints"] else ""
        line = (
            f"{name} moved up from {move['drawn_at']} to position {move['position']} for fair exposure{by}, past "
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
    if n_blocks == len(shown.considered.ids):
        return f"The ranker kept an order between all {n_blocks} of these candidates, better ones first."
    if n_blocks > 1:
        return (
            f"The ranker kept an order between {n_blocks} parts of these candidates, better ones first. Inside a part "
            "it was not sure which are better, and explored."
        )
    if shown.considered.above.any() or shown.considered.below.any():
        return "The ranker was sure of some orders, but not of enough to part these candidates, so it explored."
    return "The ranker was not yet sure of any order of these candidates, so it explored among them."


def _about_fairness(shown: Shown, told: dict[str, Any]) -> list[str]:
    lines = []
    if not told["moved"]:
        fair = "was fair already and " if shown.qualified else ""
        lines.append(f"The ranker's own draw {fair}is shown as it came.")
    elif shown.believed:
        lines.append(_about_regret(shown, sum(len(move["against_certain_orders"]) for move in told["moved"])))
    several = len(told["constraints"]) > 1
    lines += [_about_account(account, several=several) for account in told["constraints"]]
    return lines if shown.proof in (None, FOUND) else [*lines, _about_proof(shown, several=several)]


def _about_account(account: dict[str, Any], *, several: bool) -> str:
    line = (
        f"The largest gap in exposure between groups is {account['gap']:.3f} after this ranking, "
        f"{'within' if account['met'] else 'outside'} the tolerance of {account['tolerance']:g}."
    )
    if several:
        lacked = max(account["lacking"].items(), key=lambda each: each[1], default=None)
        before = "nobody lacked anything before" if lacked is None else f"{lacked[0]} lacked {lacked[1]:.3f} before"
        line = f"Constraint {account['constraint']}: {before}. {line}"
    return line


def _about_proof(shown: Shown, *, several: bool) -> str:
    """What is proven of a ranking beyond a tolerance."""
    if shown.proof == UNPROVEN:
        return (
            f"No ranking within {'all tolerances' if several else 'the tolerance'} was found, though one may exist. "
            f"None has a gap below {shown.gap_bound:.3f}."
        )
    what = "No ranking of these candidates could meet " + ("all constraints" if several else "it")
    if shown.proof == LEAST:
        return f"{what}, and this one has the smallest {'gaps, by priority' if several else 'gap'}."
    return f"{what}. None has a gap below {shown.gap_bound:.3f}."


def _about_regret(shown: Shown, n_named: int) -> str:
    n_reversed = shown.added_regret
    if n_reversed == 0:
        return "No order that the ranker was sure of had to be reversed."
    if n_named != n_reversed:  # less sure ones count as well, by how probable they are
        if n_reversed < LITTLE:
            return "By what the ranker expects, that costs next to nothing."
        return f"By what the ranker expects, that costs as much as reversing {n_reversed:g} orders that are sure."
    return f"{n_reversed:g} order{'s' if n_reversed > 1 else ''} that the ranker was sure of had to be reversed."


def _some(names: list[str]) -> str:
    shown, rest = names[:4], len(names) - 4
    text = ", ".join(shown)
    return f"{text} and {rest} more" if rest > 0 else text
