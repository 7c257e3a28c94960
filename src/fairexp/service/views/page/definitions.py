"""What the page's charts show, for people who have never read the paper."""

from __future__ import annotations

GAP = (
    "How far the groups are from having had attention in proportion to their shares: the largest difference between "
    "two of them since the beginning. 1 is the attention that the top position gets once. 'Without fairness' is what "
    "the gap would be had the ranker's own order been shown each time. That is an approximation: with other lists "
    "shown, it would have learned from other clicks."
)
ATTENTION = (
    "The part of all attention that each group got, in the last twelfth of this range. Attention (exposure) is how "
    "often a position is looked at: by the policy's curve, or as measured."
)
WITHIN = (
    "The part of the rankings after which the gap between the groups was within the tolerance, in the last twelfth of "
    "this range. It cannot be where a query's candidates do not allow it. (In the API: qualified.)"
)
REVERSED = (
    "How many pairs of candidates per ranking stand against an order that the ranker was sure of, because fairness "
    "asked for it, in the last twelfth of this range. Less sure orders count by how probable they are. (In the API: "
    "added_regret.)"
)
COST = (
    "Clicks that the model expects of the lists shown, and of those that the ranker had drawn before fairness: "
    "positions are looked at as the curve says, and candidates clicked by their scores. What lies between the lines is "
    "what fairness costs. As a rule the estimate is too low."
)
LEARNING = "Clicks that came back per ranking, in the last twelfth of this range."
CLICKS = "Of how many showings at a position a click came back, since the beginning."
WEIGHTS = "The features that count most in a candidate's score now. To the right: the more of it, the higher the score."
LATENCY = "How long the latest rankings took inside the server, from the request to the answer."
