"""The search for templates: the cheapest fair interleaving of the groups' queues.

A map, in the order of what is tried (`templates` tries it; each part builds on those named before it):

- `rounds` is what a template is chosen for: queues, what pops cost, what is owed; `gaps` is how unfair an outcome is.
- `depth_first` goes over templates position by position, from the draw's own on, and gives up where `reach` shows that
  a group can no longer end within the limit. Most rounds end here: a search that was finished has proven its find.
- `subset_cover`, up to 12 positions, puts templates together from `subsets` of positions, one for each group, whose
  sums fit. That is exact when finished, which with two groups it always is.
- `long_lists`: on the `lattice` of counts, Lagrange `multipliers` of exposure prove what templates cost at least, and
  leave few states. `first_guess` finds a first fair template: the top is filled along the multipliers, the last ten
  positions by a cover. On the states that are left, `tables` hold what completing a template must cost: exact, with two
  and three groups, but for rounding. A depth-first search that minds them, with a budget that rises from the bound,
  finds the best and proves it.
- `least_gap`, where none of these found a template within the tolerance: for any number of demands (`owed`) it looks
  for one whatever it costs, or else for the least gap, by meet in the middle. What it finds is the limit of another
  search for the least cost.
- `local_search` changes a template a little: for less cost, and to keep to the draw where it may.

For several constraints at once documents fall into classes, the combinations of their groups, and a template is a word
over classes. `rankings` tries, in this order:

- `walk` goes over words position by position, in the order of the draw, with a budget of cost that rises. Each budget
  that is finished proves a bound. Most rounds end here.
- `dual_prices` prove what words cost at least, as `multipliers` do for one constraint.
- `meet_in_the_middle` puts the last positions together from two halves, each of which has few words. That is exact for
  all of a list that is short enough, and for the end of a longer one.

Effort is bounded, and what is not proven states its bound. A `Search` has room for one search at a time: threads take
one each.
"""
