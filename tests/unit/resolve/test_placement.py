from __future__ import annotations

import pytest

from gpusize.placement import Layout, Pins, Shape, layouts
from gpusize.resolving.zones import is_local_zone, standard_zones

DENSE = Shape(heads=32, vision_heads=None, layers=32, experts=None, concurrency=16)
MIXED = Shape(heads=32, vision_heads=None, layers=32, experts=64, concurrency=16)


def test_one_gpu_has_one_layout() -> None:
    assert list(layouts(1, 1, DENSE)) == [Layout()]


def test_copies_fill_the_node() -> None:
    found = set(layouts(4, 1, DENSE, stages_within=False))
    assert found == {Layout(1, 1, 4), Layout(2, 1, 2), Layout(4, 1, 1)}


def test_there_are_never_more_copies_than_sequences() -> None:
    shape = DENSE._replace(concurrency=2)
    assert Layout(1, 1, 4) not in set(layouts(4, 1, shape, stages_within=False))
    assert max(layout.dp for layout in layouts(8, 1, shape)) == 2


def test_sizes_divide_the_heads_of_text_and_images() -> None:
    shape = DENSE._replace(heads=12, vision_heads=6)
    assert {layout.tp for layout in layouts(8, 1, shape)} == {1, 2}


def test_experts_spread_over_copies_only() -> None:
    found = set(layouts(4, 1, MIXED, stages_within=False))
    assert Layout(1, 1, 4, 4) in found
    assert Layout(4, 1, 1, 4) not in found
    uneven = MIXED._replace(experts=6)
    assert all(layout.ep == 1 for layout in layouts(4, 1, uneven, stages_within=False))


def test_nodes_are_stages() -> None:
    found = set(layouts(8, 2, DENSE, stages_within=False))
    assert Layout(8, 2, 1) in found
    assert {layout.pp for layout in found} == {2}


def test_pins_are_taken_as_they_are() -> None:
    assert list(layouts(8, 1, DENSE, Pins(tp=3, pp=1, dp=1, ep=1))) == [Layout(3)]
    assert {layout.tp for layout in layouts(8, 1, DENSE, Pins(tp=4))} == {4}


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        (Layout(), "tp=1"),
        (Layout(4, 1, 2), "tp=4 dp=2"),
        (Layout(1, 2, 8, 8), "tp=1 pp=2 dp=8 ep=8"),
    ],
)
def test_a_layout_names_the_sizes_above_one(layout: Layout, text: str) -> None:
    assert str(layout) == text


def test_local_zones_are_told_from_standard_ones() -> None:
    assert is_local_zone("use1-atl2-az1")
    assert is_local_zone("us-east-1-dfw-2a")
    assert not is_local_zone("use1-az4")
    assert standard_zones(("use1-az4", "use1-atl2-az1", "use1-az1")) == ("use1-az1", "use1-az4")
