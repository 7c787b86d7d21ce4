"""Versions of engines, compared by what was released first."""

from __future__ import annotations

import pytest

from gpusize.versions import in_range, parse_version

IN_ORDER = [
    "0.5.0",
    "0.5.0.post3",
    "0.19.1.dev3+g123",
    "0.19.1rc1",
    "0.19.1",
    "0.20",
    "0.20.1",
    "1",
    "1.0.1",
    "b4567",
]


def test_versions_are_in_order() -> None:
    versions = [parse_version(text) for text in IN_ORDER]
    assert None not in versions
    assert versions == sorted(versions)  # type: ignore[type-var]
    assert len(set(versions)) == len(versions)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0.20", "0.20.0"),
        ("v0.20", "0.20"),
        ("V0.20", "0.20"),
        ("0.20+cu128", "0.20"),
        ("0.20-rc1", "0.20rc1"),
        (" 0.20 ", "0.20"),
        ("b4567", "4567"),
    ],
)
def test_spellings_of_one_version(one: str, other: str) -> None:
    assert parse_version(one) == parse_version(other) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "latest",
        "v",
        "b",
        "x1",
        "1.x",
        "1.0.beta.2",
        "1..2",
        ".",
        "1.0foo",
        "\u06f1.\u06f2",
        "1" * 65,
    ],
)
def test_texts_that_name_no_release(text: str) -> None:
    assert parse_version(text) is None


@pytest.mark.parametrize(
    ("version", "first", "before", "inside"),
    [
        ("0.19.1", "0.8.0", "0.20.0", True),
        ("0.20", "0.8.0", "0.20.0", False),
        ("0.8", "0.8.0", "", True),
        ("0.1", "", "", True),
        ("0.1", "0.2", "", False),
    ],
)
def test_ranges_hold_their_first_and_not_their_last(
    version: str, first: str, before: str, inside: bool
) -> None:
    parsed = parse_version(version)
    assert parsed is not None
    assert in_range(parsed, first, before) is inside


@pytest.mark.parametrize(
    ("text", "written"), [("v0.20.0", "0.20"), ("0.5.0.post3", "0.5.post3"), ("1rc2", "1.rc2")]
)
def test_a_version_writes_itself(text: str, written: str) -> None:
    parsed = parse_version(text)
    assert str(parsed) == written
    assert parse_version(written) == parsed
