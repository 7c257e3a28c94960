"""What another ranker would have earned, from the log of this one.

`propensity` says how probable what is shown next is; a `record` holds rounds with what was shown, clicked and how
probable it was, and `files` reads and writes it. `estimates` weighs its clicks for a target ranker, with a `model` of
clicks behind it where that is wanted.
"""

from fairexp.lab.offpolicy.estimates import Evaluation, evaluate
from fairexp.lab.offpolicy.propensity import Propensity, next_propensity
from fairexp.lab.offpolicy.record import BanditLog

__all__ = ["BanditLog", "Evaluation", "Propensity", "evaluate", "next_propensity"]
