"""Slow, obvious sessions: one user, one position at a time."""

from __future__ import annotations


def walk(grades, click, stop, coins, *, stop_after):
    """Clicks and examined positions of one session as lists; coins[0] decide clicks, coins[1] leaving."""
    clicks, examined = [False] * len(grades), [False] * len(grades)
    present = True
    for position, grade in enumerate(grades):
        if not present:
            break
        examined[position] = True
        clicks[position] = bool(coins[0][position] < click[grade])
        wants_to_leave = coins[1][position] < stop[grade]
        may_leave = clicks[position] or stop_after == "any"
        present = not (may_leave and wants_to_leave)
    return clicks, examined
