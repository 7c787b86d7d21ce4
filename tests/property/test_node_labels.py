"""Laws of what is asked of the labels of nodes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpusize_catalog.store import load
from gpusize_policies.reading.kubernetes.labels import (
    COMPARED,
    OPERATORS,
    TYPE,
    TYPE_LABELS,
    Ask,
    holds,
    meets,
)

CATALOG = load()
INSTANCES = CATALOG.instances()
VALUES = st.sampled_from(
    ["g5", "g6e", "4", "8", "24576", "l4", "a10g", "nvidia", "p", "2xlarge", ""]
)
ASKS = st.builds(
    Ask,
    st.sampled_from(sorted(TYPE_LABELS)),
    st.sampled_from(sorted(OPERATORS)),
    st.lists(VALUES, min_size=1, max_size=3).map(tuple),
)
OWN = st.lists(VALUES, max_size=2, unique=True).map(tuple) | st.none()


def admitted(asks: tuple[Ask, ...]) -> set[str]:
    found = set()
    for one in INSTANCES:
        gpu = CATALOG.gpu(one.gpu_id) if one.gpu_id else None
        if meets(asks, one, gpu) is not None:
            found.add(one.id)
    return found


@given(st.lists(VALUES, min_size=1, max_size=3).map(tuple), OWN)
def test_in_and_not_in_are_opposites(values: tuple[str, ...], own: tuple[str, ...] | None) -> None:
    inside, outside = (holds(Ask("a", word, values), own) for word in ("In", "NotIn"))
    assert outside is (None if inside is None else not inside)


@given(OWN)
def test_a_label_is_there_or_not(own: tuple[str, ...] | None) -> None:
    there, absent = (holds(Ask("a", word), own) for word in ("Exists", "DoesNotExist"))
    assert absent is (None if there is None else not there)


@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_numbers_compare_as_numbers(own: int, bound: int) -> None:
    said = {word: holds(Ask("a", word, (str(bound),)), (str(own),)) for word in COMPARED}
    assert said == {"Gt": own > bound, "Lt": own < bound, "Gte": own >= bound, "Lte": own <= bound}
    assert not any(holds(Ask("a", word, (str(bound),)), ()) for word in COMPARED)


@given(st.lists(ASKS, max_size=4), ASKS)
def test_more_asks_never_admit_more(asks: list[Ask], more: Ask) -> None:
    narrow = admitted((*asks, more))
    assert narrow <= admitted(tuple(asks))
    assert narrow == admitted((more, *reversed(asks)))


@given(st.sampled_from([one.id for one in INSTANCES]))
def test_a_type_that_is_named_is_the_only_one(name: str) -> None:
    assert admitted((Ask(TYPE, "In", (name,)),)) == {name}
    assert admitted((Ask(TYPE, "NotIn", (name,)),)) == {one.id for one in INSTANCES} - {name}
