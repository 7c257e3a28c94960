"""The search for several demands at once: the cheapest ranking that keeps all of them.

Documents fall into classes, the groups that they have under each demand, and a template is a word over classes: a
`Round` of the search for one demand, with classes for groups. A map, in the order of what is tried:

- `walk` goes over words position by position, in the order of the draw, with a budget of cost that rises. Each budget
  that is finished proves a bound. Most rounds end here.
- `halves` puts the last positions together from two halves, each of which has few words: exact for all of a list that
  is short enough, and for the end of a longer one.
- `rankings` tries them, and at last exchanges neighbours that stand in the reverse of the draw's order without need.

Where not all demands can be met, the least gaps by priority come from the search for one demand (`search.least_gap`).
"""
