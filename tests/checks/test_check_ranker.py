"""Every promise has a ranker in `broken.py` that breaks it: the checks must notice, and name the promise."""

from __future__ import annotations

import numpy as np
import pytest

from fairexp.checks import CheckFailed, all_queries, check_ranker
from fairexp.checks.comparison import first_difference, size_of
from fairexp.errors import FairexpError
from tests.checks import broken as rankers
from tests.checks import broken_traits as traits

LISTS = "shown documents are distinct"
SCORES = "scores are finite"
SEEDS = "the same seed gives the same rankings"
INPUT = "input arrays are left untouched"
FEEDBACK = "late, out-of-order and missing feedback"
RESTORE = "a restored state continues bit for bit"
MEMORY = "memory is bounded"
AWKWARD = "awkward queries and clicks"
REFUSALS = "bad input is refused"
FOREIGN = "foreign rankings are refused"

SHORTER = "a shorter list on request"
ACCOUNT = "exposure is charged"
QUALIFIED = "rankings are qualified or not"
QUERY_ID = "a query id is needed only where"
CLONE = "a clone has the same parameters"
TAKE_OVER = "what was learned is taken over by feature"

BROKEN = [
    (rankers.ShowsTooMany, LISTS, "expected (10,)"),
    (rankers.IgnoresShorter, SHORTER, "expected (1,)"),
    (rankers.StaysShort, SHORTER, "own length is 1 afterwards"),
    (rankers.TakesLonger, REFUSALS, "a list longer than its own was accepted"),
    (rankers.ShowsTwice, LISTS, "repeats a document"),
    (rankers.ShowsOthers, LISTS, "expected indices"),
    (rankers.MixesFeatures, LISTS, "ranking.features"),
    (rankers.FailsOnOne, LISTS, "IndexError was raised: no second candidate"),
    (rankers.ShowsNaN, LISTS, "finite numbers"),
    (rankers.ScoresColumn, SCORES, "shape"),
    (rankers.ScoresAtRandom, SCORES, "other scores when asked again"),
    (rankers.LearnsByScoring, SCORES, "changed 'n_ranked'"),
    (rankers.PretendsNotToScore, SCORES, "CannotScoreError"),
    (rankers.IgnoresItsSeed, SEEDS, "round 0"),
    (rankers.SharesItsRandomness, SEEDS, "round 0"),
    (rankers.SharesItsWeights, SEEDS, "showed"),
    (rankers.ScalesInPlace, INPUT, "query.features was changed"),
    (rankers.ClearsClicks, INPUT, "clicks was changed"),
    (rankers.UsesUpMemory, INPUT, "ranking.memory['keys'] was changed"),
    (rankers.WantsOrder, FEEDBACK, "RuntimeError"),
    (rankers.RemembersRankings, RESTORE, "KeyError"),
    (rankers.ForgetsWeights, RESTORE, "showed"),
    (rankers.RoundsWeights, RESTORE, "scored"),
    (rankers.ForgetsRate, RESTORE, "rounds later the original"),
    (rankers.CountsWhileRanking, "replayed rankings lead to the same state", "'weights' of the state differs"),
    (rankers.StoresObjects, RESTORE, "'note' of the state"),
    (rankers.StoresLists, RESTORE, "list"),
    (rankers.HandsOutItsWeights, RESTORE, "state() returned changed in 'weights'"),
    (rankers.TakesOverArrays, RESTORE, "restore() was given changed in 'weights'"),
    (rankers.GrowsInState, MEMORY, "state() held"),
    (rankers.GrowsInSecret, MEMORY, "the ranker held"),
    (rankers.DividesByLength, AWKWARD, "(zero features): 'weights' of the state contains NaN"),
    (rankers.TakesAnyWidth, REFUSALS, "a feature too many was accepted"),
    (rankers.TakesAnyClicks, REFUSALS, "a click too few was accepted"),
    (rankers.TakesNaN, REFUSALS, "score() of NaN was accepted"),
    (rankers.RefusesTooLate, REFUSALS, "changed 'weights'"),
    (rankers.RaisesOthers, REFUSALS, "raised TypeError"),
    (rankers.RestoresAnything, REFUSALS, "restore() of an empty state was accepted"),
    (rankers.TakesForeign, FOREIGN, "another ranker's ranking was accepted"),
    (rankers.MixesUpFeatures, TAKE_OVER, "see _take_over()"),
    (rankers.StartsCountingAnew, TAKE_OVER, "it has shown 0 rankings"),
    (
        traits.LearnsPartsTwice,
        "clicks on one ranking may be learned in parts",
        "without clicks changed 'weights'",
    ),
    (traits.CountsGradesTwice, "clicks may have grades", "another 'weights' of the state"),
    (traits.KeepsWhatIsGivenBack, ACCOUNT, "after a ranking was given back"),
    (traits.KeepsNoAccount, ACCOUNT, "account() is None"),
    (traits.ForgetsToCharge, ACCOUNT, "account() went from"),
    (traits.NeverQualified, QUALIFIED, "keeps_tolerance is True"),
    (traits.QualifiedWithoutTolerance, QUALIFIED, "keeps_tolerance is False"),
    (traits.TakesNameless, QUERY_ID, "without an id was accepted"),
    (traits.WantsNames, QUERY_ID, "KeyError"),
    (traits.LosesAParameter, CLONE, "AttributeError"),
    (traits.ClonesWhatItLearned, CLONE, "of the clone's state is not a new ranker's"),
]


@pytest.mark.parametrize(("broken", "promise", "problem"), BROKEN, ids=[case[0].__name__ for case in BROKEN])
def test_a_broken_promise_is_noticed_and_named(broken, promise, problem):
    with pytest.raises(CheckFailed) as caught:
        check_ranker(lambda seed: broken(seed=seed))
    assert caught.value.promise.startswith(promise), str(caught.value)
    assert problem in caught.value.problem or problem in str(caught.value)


@pytest.mark.parametrize("sound", [rankers.Sound, rankers.SaysThatItGrows])
def test_a_sound_ranker_passes(sound):
    check_ranker(lambda seed: sound(seed=seed))
    check_ranker(lambda seed: sound(3, length=4, seed=seed), n_features=3, n_groups=4, seed=7, rounds=30)


def test_a_factory_that_makes_no_ranker_is_told_so():
    with pytest.raises(CheckFailed, match=r"the factory makes rankers: factory\(0\) returned a NoneType"):
        check_ranker(lambda seed: None)


def test_arguments_are_checked():
    with pytest.raises(FairexpError, match="n_groups"):
        check_ranker(lambda seed: rankers.Sound(seed=seed), n_groups=0)


def test_queries_are_the_same_for_the_same_arguments_and_their_ids_differ():
    one, two = all_queries(4, 3, seed=1), all_queries(4, 3, seed=1)
    assert len({query.query_id for query in one}) == len(one)
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a.features, b.features)
        assert np.array_equal(a.groups, b.groups)
    assert {query.n_candidates for query in one} >= {1, 2, 3, 30}
    assert max(query.groups.max() for query in one) == 2


def test_sizes_count_what_is_held_anywhere():
    class Holder:
        __slots__ = ("inner",)

    empty, full = Holder(), Holder()
    empty.inner, full.inner = [], [{"a": np.zeros(100)}]
    assert size_of(full) - size_of(empty) >= 800
    ring = []
    ring.append(ring)
    assert size_of(ring) == 16


def test_differences_are_found_to_the_bit():
    state = {"a": np.array([1.0, np.nan])}
    assert first_difference(state, {"a": np.array([1.0, np.nan])}) is None
    assert first_difference(state, {"a": np.array([1.0 + 2e-16, np.nan])}) == "a"
    assert first_difference(state, {}) == "a"
