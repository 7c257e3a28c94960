"""The search for templates: the cheapest fair interleaving of the groups' queues.

A map, in the order of what is tried (`templates` tries it; each part builds on those named before it):

- `rounds` is what a template is chosen for: queues, what pops cost, what is owed; `gaps` is how unfair an outcome is.
- `depth_first` goes over templates position by position, from the draw's own on, and gives up where `reach` shows that
  a group can no longer end within the limit. Most rounds end here: a search that was finished has proven its find.
- `short_lists`, up to 12 positions: `covers` puts templates together from `subsets` of positions, one for each group,
  whose sums fit. It is exact when finished, which with two groups it always is. If nothing is within the tolerance,
  covers with a limit that rises find the least gap, and then the cheapest with that.
- `long_lists`: on the `lattice` of counts, Lagrange `multipliers` of exposure prove what templates cost at least, and
  leave few states. `first_guess` finds a first fair template: the top is filled along the multipliers, the last ten
  positions by a cover. On the states that are left, `tables` hold what completing a template must cost: exact, with two
  and three groups, but for rounding. A depth-first search that minds them, with a budget that rises from the bound,
  finds the best and proves it. If nothing is within the tolerance, one for the least gap sets the limit.

Effort is bounded, and what is not proven states its bound. A `Search` has room for one search at a time: threads take
one each.
"""
