"""What two groups cost that share the positions which all others have left: exact, by a table of steps."""

from __future__ import annotations

from fairexp.arrays import Bools, Ints
from fairexp.kernels.compiling import kernel


@kernel
def table_steps(cost: Ints, g: int, h: int, free: int, used: Bools, mask: Ints, steps: Ints, gone: Ints) -> int:
    """Put into `steps` (k + 1, 2, k + 1) what g and h, and others on their account, pay; the number of free positions.

    At [t, 0, i] stands what is paid at the t-th free position if it goes to g, which has had i of those above, and at
    [t, 1, i] if it goes to h: by the one that takes it, and by others for positions since the free one above. After the
    last free position [t, 0, i] is what others still pay. `gone` (G,) is scratch.
    """
    n_groups, k, t = used.shape[0], cost.shape[1], 0
    for f in range(n_groups):
        gone[f] = 0
    steps[0, 0, 0] = 0
    for p in range(k):
        if (free >> p) & 1:
            for i in range(t + 1):
                j = t - i
                one, other = steps[t, 0, i] + cost[g, i, h, j], steps[t, 0, i] + cost[h, j, g, i]
                for f in range(n_groups):
                    if used[f]:
                        one += cost[g, i, f, gone[f]]
                        other += cost[h, j, f, gone[f]]
                steps[t, 0, i], steps[t, 1, i] = one, other
            t += 1
            for i in range(t + 1):
                steps[t, 0, i] = 0
        else:
            f = 0
            while not (used[f] and (mask[f] >> p) & 1):
                f += 1
            for i in range(t + 1):
                steps[t, 0, i] += cost[f, gone[f], g, i] + cost[f, gone[f], h, t - i]
            gone[f] += 1
    return t


@kernel
def least_steps(steps: Ints, t: int, ahead: Ints) -> int:
    """The least that the t free positions cost, however they are shared; `ahead` (k + 2,) is scratch."""
    for i in range(t + 1):
        ahead[i] = steps[t, 0, i]
    while t > 0:
        t -= 1
        for i in range(t + 1):
            ahead[i] = min(steps[t, 0, i] + ahead[i + 1], steps[t, 1, i] + ahead[i])
    return int(ahead[0])


@kernel
def price_steps(steps: Ints, free: int, mask: int) -> int:
    """What it costs that g takes the positions of `mask`, and h the other free ones."""
    price, t, i, rest = 0, 0, 0, free
    while rest:
        first = rest & -rest
        if mask & first:
            price += steps[t, 0, i]
            i += 1
        else:
            price += steps[t, 1, i]
        t += 1
        rest ^= first
    return int(price + steps[t, 0, i])
