"""The budget holds whatever the items are, and whole items fill it from the best on."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.errors import InvalidInput
from tenure.core.token_budget import Reserves, Sized, allocate, context_tokens, fit_rendered, section_weight

ITEM = st.tuples(st.integers(min_value=0, max_value=400), st.floats(min_value=0, max_value=1))
BUDGETS = st.integers(min_value=0, max_value=3_000)


@st.composite
def requests(draw):
    names = ["code", "decisions", "activity"]
    sections = {
        name: [
            Sized(f"{name}{n}", tokens, relevance)
            for n, (tokens, relevance) in enumerate(draw(st.lists(ITEM, max_size=8)))
        ]
        for name in names
    }
    working = [Sized(f"w{n}", tokens) for n, (tokens, _) in enumerate(draw(st.lists(ITEM, max_size=5)))]
    return sections, working


def tokens_of(keys, sections, working):
    sizes = {item.key: item.token_count for items in (*sections.values(), working) for item in items}
    return sum(sizes[key] for key in keys)


@settings(max_examples=100)
@given(requests(), BUDGETS)
def test_the_budget_is_never_exceeded_and_working_memory_takes_a_quarter_at_most(request, budget):
    sections, working = request
    allocation = allocate(sections, working, budget)
    used = tokens_of(allocation.admitted, sections, working)
    assert allocation.working_tokens == tokens_of(allocation.working, sections, working) <= budget * 0.25
    assert used + allocation.working_tokens <= budget
    assert sum(allocation.by_section.values()) == used


@settings(max_examples=100)
@given(requests(), BUDGETS)
def test_every_item_is_admitted_whole_or_left_out_once(request, budget):
    sections, working = request
    allocation = allocate(sections, working, budget)
    assert sorted((*allocation.admitted, *allocation.left_out)) == sorted(
        i.key for items in sections.values() for i in items
    )
    assert allocate(sections, working, budget) == allocation


@settings(max_examples=100)
@given(requests(), BUDGETS)
def test_nothing_is_left_out_that_would_still_fit(request, budget):
    sections, working = request
    allocation = allocate(sections, working, budget)
    left = budget - allocation.working_tokens - sum(allocation.by_section.values())
    assert all(tokens_of([key], sections, working) > left for key in allocation.left_out)


@settings(max_examples=100)
@given(requests())
def test_all_is_admitted_when_all_fits(request):
    sections, working = request
    budget = 4 * tokens_of([i.key for items in (*sections.values(), working) for i in items], sections, working)
    allocation = allocate(sections, working, budget)
    assert allocation.left_out == ()
    assert list(allocation.working) == [item.key for item in working]


@settings(max_examples=50)
@given(
    st.integers(min_value=1, max_value=30), st.lists(st.floats(min_value=0, max_value=1), max_size=10), BUDGETS, BUDGETS
)
def test_with_items_of_one_size_a_larger_budget_never_admits_fewer(size, relevances, a, b):
    sections = {
        "code": [Sized(str(n), size, relevance) for n, relevance in enumerate(sorted(relevances, reverse=True))]
    }
    smaller, larger = sorted((a, b))
    assert set(allocate(sections, [], smaller).admitted) <= set(allocate(sections, [], larger).admitted)


def test_sections_share_by_score_and_a_weak_section_still_gets_its_floor():
    strong = [Sized(f"s{n}", 10, 1.0) for n in range(20)]
    weak = [Sized(f"w{n}", 10, 0.0) for n in range(20)]
    by_section = allocate({"strong": strong, "weak": weak, "empty": []}, [], 120).by_section
    assert by_section == {"strong": 100, "weak": 20, "empty": 0}


def test_unused_budget_flows_to_the_other_sections():
    few, many = [Sized("f", 10, 1.0)], [Sized(f"m{n}", 10, 0.5) for n in range(9)]
    assert allocate({"few": few, "many": many}, [], 100).by_section == {"few": 10, "many": 90}


def test_a_best_item_larger_than_its_share_comes_before_smaller_ones():
    sections = {"code": [Sized("large", 70, 0.9), Sized("small", 40, 0.2)], "activity": [Sized("other", 30, 0.9)]}
    assert allocate(sections, [], 100).admitted == ("other", "large")


def test_working_memory_takes_the_newest_and_passes_over_what_does_not_fit():
    working = [Sized("newest", 15), Sized("huge", 50), Sized("older", 10), Sized("oldest", 1)]
    assert allocate({}, working, 100).working == ("newest", "older")


def test_a_sections_score_is_the_mean_of_its_five_best():
    assert section_weight([]) == 0.0
    assert section_weight([0.0]) == pytest.approx(0.2)
    assert section_weight([0.0, 1.0, 1.0, 1.0, 1.0, 1.0]) == pytest.approx(1.0)


def test_reserves_are_charged_first():
    assert context_tokens(1_000, Reserves(request=100, history=200, tools=50)) == 650
    with pytest.raises(InvalidInput, match="shorten the history"):
        context_tokens(100, Reserves(history=101))
    with pytest.raises(InvalidInput, match="negative"):
        context_tokens(100, Reserves(tools=-1))


@pytest.mark.parametrize(
    ("sections", "budget", "message"),
    [
        ({}, -1, "max_tokens"),
        ({"code": [Sized("a", -1)]}, 10, "negative"),
        ({"code": [Sized("a", 1, float("nan"))]}, 10, "relevance"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(sections, budget, message):
    with pytest.raises(InvalidInput, match=message):
        allocate(sections, [], budget)


def test_the_last_items_go_when_the_rendered_text_is_over():
    def render(keys):
        return " ".join(("head", *(f"<{key}>" for key in keys)))

    fitted = fit_rendered(["one", "two", "three"], render, lambda text: len(text.split()), 3)
    assert (fitted.kept, fitted.dropped, fitted.used) == (("one", "two"), ("three",), 3)
    assert fitted.text == "head <one> <two>"


def test_no_item_is_kept_when_even_the_empty_text_is_over():
    fitted = fit_rendered(["one"], lambda keys: "a b c", lambda text: len(text.split()), 2)
    assert (fitted.kept, fitted.dropped, fitted.used) == ((), ("one",), 3)
