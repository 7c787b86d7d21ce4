"""Descriptions of resources that need no component: interfaces and schedules."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpusize.launch.network import Interface, layout
from gpusize.launch.schedule import DAY, beats
from gpusize.workload import Traffic
from gpusize_catalog.store import load

EFA_TYPES = [one.id for one in load().instances() if one.efa and one.efa_interfaces]


@pytest.mark.parametrize("name", EFA_TYPES)
def test_every_efa_of_a_type_is_attached_once(name):
    instance = load().instance(name)
    found = layout(instance)
    assert sum(one.kind.startswith("efa") for one in found) == instance.efa_interfaces
    assert len({(one.card, one.device) for one in found}) == len(found)
    assert {one.card for one in found} == set(range(instance.network_cards))
    first = found[0]
    assert (first.card, first.device) == (0, 0)
    assert first.kind != "efa-only"


def test_one_card_takes_one_interface_that_is_both():
    assert layout(load().instance("g6e.12xlarge")) == (Interface(0, 0, "efa"),)


def test_several_cards_keep_addresses_on_the_first():
    found = layout(load().instance("p5.48xlarge"))
    assert found[:3] == (
        Interface(0, 0, "interface"),
        Interface(0, 1, "efa-only"),
        Interface(1, 0, "efa-only"),
    )
    assert len(found) == 33


def test_a_first_card_without_efa_has_none():
    found = layout(load().instance("p6-b300.48xlarge"))
    assert found[:2] == (Interface(0, 0, "interface"), Interface(1, 0, "efa-only"))
    assert len(found) == 17


def test_what_is_not_known_is_not_described():
    catalog = load()
    assert layout(catalog.instance("g6.xlarge")) == ()
    assert layout(catalog.instance("p6e-gb200.36xlarge")) == ()


def crons(**traffic):
    return [(one.name, one.recurrence) for one in beats(Traffic(**traffic))]


def test_office_hours_are_days_from_monday():
    assert crons(start="08:00", hours_per_day=10, days_per_week=5) == [
        ("up", "0 8 * * 1,2,3,4,5"),
        ("down", "0 18 * * 1,2,3,4,5"),
    ]


def test_hours_past_midnight_end_on_the_next_day():
    assert crons(start="22:30", hours_per_day=3.5, days_per_week=7) == [
        ("up", "30 22 * * *"),
        ("down", "0 2 * * *"),
    ]
    assert crons(start="22:00", hours_per_day=4, days_per_week=6)[1] == (
        "down",
        "0 2 * * 0,2,3,4,5,6",
    )
    assert crons(start="14:00", hours_per_day=10, days_per_week=1)[1] == ("down", "0 0 * * 2")


def test_whole_days_have_no_nights_between_them():
    assert crons(start="06:00", days_per_week=5) == [("up", "0 6 * * 1"), ("down", "0 6 * * 6")]
    assert crons(start="06:00", days_per_week=7) == []


def test_a_part_of_a_day_is_a_whole_one():
    assert crons(hours_per_day=8, days_per_week=2.5)[0] == ("up", "0 8 * * 1,2,3")


@given(
    start=st.integers(0, DAY - 1),
    minutes=st.integers(1, DAY),
    days=st.integers(1, 7),
)
def test_a_group_is_up_for_exactly_the_hours_of_the_week(start, minutes, days):
    hour, minute = divmod(start, 60)
    found = beats(
        Traffic(start=f"{hour:02}:{minute:02}", hours_per_day=minutes / 60, days_per_week=days)
    )
    if not found:
        assert (minutes, days) == (DAY, 7)
        return
    moments = []
    for beat in found:
        at, on, _, _, weekdays = beat.recurrence.split()
        names = range(7) if weekdays == "*" else map(int, weekdays.split(","))
        moments += [((day * DAY) + int(on) * 60 + int(at), beat.is_up) for day in names]
    moments.sort()
    assert all(one[1] != other[1] for one, other in pairwise(moments))
    week, up = 7 * DAY, 0
    for index, (moment, is_up) in enumerate(moments):
        if is_up:
            up += (moments[(index + 1) % len(moments)][0] - moment) % week
    assert up == minutes * days
