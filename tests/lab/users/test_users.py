"""Simulated users: exact behaviour where it is certain, rates within sampling error where it is not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairexp.errors import ArgumentError, StateError
from fairexp.kernels.data.clicks import extremes
from fairexp.lab.users import Cascade, DependentClickModel, PositionBased, dependent_clicks, preset_grades
from fairexp.lab.users.dependent import PRESETS
from fairexp.types import Ranking
from tests.reference.clicks import walk

GRADE_MIX = (0.52, 0.32, 0.13, 0.02, 0.01)


def show(documents):
    m = len(documents)
    return Ranking(
        shown=np.array(documents, dtype=np.int64), features=np.zeros((m, 1)), scores=np.zeros(m), ranker=0, number=0
    )


def users(seed):
    return [
        dependent_clicks("navigational", seed=seed),
        dependent_clicks("informational", stop_after="any", seed=seed),
        PositionBased(1.0 / np.arange(1, 101), [0.1, 0.3, 0.5, 0.7, 0.9], seed=seed),
        Cascade([0.1, 0.3, 0.5, 0.7, 0.9], seed=seed),
    ]


@given(
    grades=st.lists(st.integers(0, 2), min_size=1, max_size=100),
    stop_after=st.sampled_from(["click", "any"]),
    seed=st.integers(0, 1000),
)
@settings(deadline=None, derandomize=True, max_examples=60)
def test_kernel_equals_the_obvious_walk(grades, stop_after, seed):
    user = dependent_clicks("informational", n_grades=3, stop_after=stop_after, seed=seed)
    twin = dependent_clicks("informational", n_grades=3, stop_after=stop_after, seed=seed)
    visit = user.visit(show(range(len(grades))), grades)
    clicks, examined = walk(grades, user.click, user.stop, twin._coins(1, len(grades))[0], stop_after=stop_after)
    assert visit.clicks.tolist() == clicks
    assert visit.examined.tolist() == examined


@pytest.mark.parametrize("index", range(4))
def test_many_sessions_equal_one_after_the_other(index):
    grades = np.random.default_rng(0).integers(0, 5, size=(50, 12))
    many = users(3)[index].visit_many(grades)
    one_by_one = users(3)[index]
    for session in range(50):
        visit = one_by_one.visit(show(range(12)), grades[session])
        assert (visit.clicks == many.clicks[session]).all()
        assert (visit.examined == many.examined[session]).all()
    assert not (many.clicks & ~many.examined).any()


@pytest.mark.parametrize("index", range(4))
def test_coins_do_not_depend_on_what_happens(index):
    """After any visits of lists of up to 64 documents, the next visit sees the same coins."""
    relevance = np.array([0, 1, 2, 3, 4] * 13)
    first, second = users(5)[index], users(5)[index]
    first.browse(show([0, 1]), relevance)
    second.browse(show(range(64)), relevance)
    assert first.browse(show(range(20)), relevance).tolist() == second.browse(show(range(20)), relevance).tolist()


def test_the_first_coins_of_a_long_ranking_are_those_of_a_short_one():
    short, long = users(2)[2]._coins(1, 64), users(2)[2]._coins(1, 90)
    assert (short == long[:, :, :64]).all()
    assert np.unique(long).size == long.size


@pytest.mark.parametrize("index", range(4))
def test_state_continues_bit_for_bit(index):
    user, other = users(1)[index], users(99)[index]
    ranking, relevance = show([3, 1, 2]), [0, 4, 2, 3]
    user.browse(ranking, relevance)
    other.restore(user.state())
    again = [user.browse(ranking, relevance).tolist() for _ in range(40)]
    assert again == [other.browse(ranking, relevance).tolist() for _ in range(40)]
    assert len({tuple(clicks) for clicks in again}) > 1


def test_a_foreign_state_is_refused_and_changes_nothing():
    user, twin = Cascade([0.5, 0.5], seed=0), Cascade([0.5, 0.5], seed=0)
    with pytest.raises(StateError, match="user is PositionBased, expected Cascade"):
        user.restore(PositionBased([1.0], [0.5, 0.5], seed=1).state())
    with pytest.raises(StateError, match=r"rng\.key missing"):
        user.restore({key: value for key, value in twin.state().items() if key != "rng.key"})
    with pytest.raises(StateError, match=r"rng\.counter has shape"):
        user.restore({**Cascade([0.5], seed=4).state(), "rng.counter": np.zeros(3, dtype=np.uint64)})
    assert (user.state()["rng.counter"] == twin.state()["rng.counter"]).all()
    assert user.visit_many([[1] * 30]).clicks.tolist() == twin.visit_many([[1] * 30]).clicks.tolist()


def test_grades_are_looked_up_through_the_ranking():
    user = DependentClickModel([0.0, 1.0], [0.0, 0.0], seed=0)
    assert user.browse(show([2, 0, 1]), [0, 1, 0]).tolist() == [False, False, True]


def test_perfect_binary_users_click_just_the_relevant():
    relevance = np.array([1, 0, 1, 1, 0])
    visit = dependent_clicks("perfect", n_grades=2, seed=0).visit(show(range(5)), relevance)
    assert visit.clicks.tolist() == [True, False, True, True, False]
    assert visit.examined.all()


def test_click_rates_per_grade():
    """At position 1 everything is read; 4.5 standard errors of a rate from S sessions are at most 2.25 / sqrt(S)."""
    n_sessions = 40_000
    for (name, n_grades), (click, _) in PRESETS.items():
        for grade in range(n_grades):
            user = dependent_clicks(name, n_grades=n_grades, seed=grade)
            rate = user.visit_many(np.full((n_sessions, 1), grade)).clicks.mean()
            assert abs(rate - click[grade]) <= 2.25 / np.sqrt(n_sessions)


@pytest.mark.parametrize(
    ("name", "stop_after", "factor"),
    [
        ("navigational", "any", 0.712),
        ("informational", "any", 0.832),
        ("navigational", "click", 0.915),
        ("informational", "click", 0.903),
    ],
)
def test_examination_falls_as_the_stop_rule_says(name, stop_after, factor):
    """P(read p + 1 | read p) = 1 - sum over grades of P(grade) stop (times click, if only clicks end a visit).

    About 40,000 .712^4 = 10,000 sessions reach position 5, so a factor's standard error is under .0046; 4 of them.
    """
    click, stop = (np.array(table) for table in PRESETS[name, 5])
    leaving = stop * click if stop_after == "click" else stop
    predicted = 1.0 - leaving @ np.array(GRADE_MIX)
    assert round(predicted, 3) == factor
    grades = np.random.default_rng(1).choice(5, size=(40_000, 6), p=GRADE_MIX)
    examined = dependent_clicks(name, stop_after=stop_after, seed=2).visit_many(grades).examined
    rates = examined.mean(axis=0)
    assert np.abs(rates[1:] / rates[:-1] - predicted).max() < 4 * 0.0046


def test_position_based_rates():
    """Clicks at p happen with examination[p] * attraction[grade]; 4.5 standard errors as above."""
    examination, attraction = np.array([1.0, 0.6, 0.3]), np.array([0.2, 0.9])
    n_sessions = 60_000
    user = PositionBased(examination, attraction, seed=3)
    visit = user.visit_many(np.tile([1, 0, 1], (n_sessions, 1)))
    bound = 2.25 / np.sqrt(n_sessions)
    assert np.abs(visit.examined.mean(axis=0) - examination).max() < bound
    assert np.abs(visit.clicks.mean(axis=0) - examination * attraction[[1, 0, 1]]).max() < bound


def test_cascade_clicks_once_and_reads_to_there():
    grades = np.random.default_rng(0).integers(0, 3, size=(500, 8))
    visit = Cascade([0.1, 0.3, 0.6], seed=1).visit_many(grades)
    assert visit.clicks.sum(axis=1).max() == 1
    for clicks, examined in zip(visit.clicks, visit.examined, strict=True):
        last_read = clicks.argmax() if clicks.any() else 7
        assert examined.tolist() == [position <= last_read for position in range(8)]


def test_an_empty_ranking_gives_no_clicks():
    assert dependent_clicks("perfect", seed=0).browse(show([]), [0, 1]).shape == (0,)


@given(values=st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=20))
@settings(deadline=None, derandomize=True, max_examples=50)
def test_extremes_are_the_lowest_and_the_highest(values):
    assert extremes(np.array(values)) == (min(values), max(values))


def test_bad_input_is_named():
    user = dependent_clicks("navigational", n_grades=3, seed=0)
    before = user.state()["rng.counter"].copy()
    with pytest.raises(ArgumentError, match=r"relevance: expected grades 0 to 2, got grade 4.*knows 3 grades"):
        user.browse(show([0]), [4, 0])
    with pytest.raises(ArgumentError, match="relevance: expected grades 0 to 2, got grade -1"):
        user.browse(show([0]), [0, -1])
    with pytest.raises(ArgumentError, match="relevance: expected whole-number grades, got dtype float64"):
        user.browse(show([0]), [0.5])
    with pytest.raises(ArgumentError, match="got 2 grades for a ranking that shows document 5"):
        user.browse(show([0, 5]), [0, 1])
    with pytest.raises(ArgumentError, match="got 2 grades for a ranking that shows document -1"):
        user.browse(show([0, -1]), [0, 1])
    with pytest.raises(ArgumentError, match=r"relevance: .*shape \(1, 2\)"):
        user.browse(show([0]), [[0, 1]])
    with pytest.raises(ArgumentError, match=r"ranking: expected the fairexp.Ranking"):
        user.browse([0, 1], [0, 1])
    assert (user.state()["rng.counter"] == before).all()


def test_a_ranking_beyond_the_examination_curve_is_refused():
    user = PositionBased([1.0, 0.5], [0.5, 0.5], seed=0)
    with pytest.raises(ArgumentError, match=r"ranking: expected at most 2, .* got 3 shown documents"):
        user.browse(show([0, 1, 2]), [0, 1, 1])


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: DependentClickModel([0.1, 1.2], [0, 0]), "click: expected probabilities .* got 1.2 at index 1"),
        (lambda: DependentClickModel([0.1, 0.2], [0.5]), "stop: expected 2 values, one per grade, got 1 values"),
        (lambda: DependentClickModel([0.1], [np.nan]), "stop: expected probabilities between 0 and 1, got nan"),
        (lambda: DependentClickModel([0.1], [0.1], stop_after="never"), "stop_after: expected one of 'click', 'any'"),
        (lambda: Cascade([]), "attraction: expected a list of at least one probability"),
        (lambda: Cascade(["0.5"]), "attraction: expected a list of at least one probability"),
        (lambda: Cascade([[0.1], [0.2, 0.3]]), "attraction: expected an array, or lists of one length"),
        (lambda: PositionBased([-0.1], [0.5]), "examination: expected probabilities .* got -0.1 at index 0"),
        (lambda: dependent_clicks("lazy"), "name: expected one of 'perfect'"),
        (lambda: dependent_clicks("perfect", n_grades=4), "n_grades: expected 5, 3 or 2, got 4"),
        (lambda: preset_grades(5), "max_grade: expected at most 4, got 5"),
        (lambda: Cascade([0.5], seed=-1), "seed: expected"),
    ],
)
def test_bad_settings_are_named(build, message):
    with pytest.raises(ArgumentError, match=message):
        build()
