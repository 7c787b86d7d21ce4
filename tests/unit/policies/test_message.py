"""The one shape of a message."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpusize_policies.message import LONGEST, about, compose, join_fixes, printable, shorten


def test_a_message_has_code_workload_numbers_fix_and_page() -> None:
    assert compose(
        "GPU101", "weights-exceed-vram", "workload 'chat'", "131.4 GiB of 19.8 GiB", "take p5"
    ) == (
        "GPU101 weights-exceed-vram: workload 'chat': 131.4 GiB of 19.8 GiB. Fix: take p5."
        " Docs: docs/rules/GPU101-weights-exceed-vram.md"
    )


def test_a_message_without_a_fix_has_none() -> None:
    message = compose("GPU806", "price-unknown", "", "no price", "")
    assert message == "GPU806 price-unknown: no price. Docs: docs/rules/GPU806-price-unknown.md"


@given(st.text(max_size=900), st.text(max_size=900), st.text(max_size=900))
def test_a_message_is_never_too_long_and_keeps_code_and_page(
    workload: str, text: str, fix: str
) -> None:
    message = compose(
        "GPU506", "on-demand-for-fault-tolerant-batch", about("workload", workload), text, fix
    )
    assert len(message) <= LONGEST
    assert message.startswith("GPU506 on-demand-for-fault-tolerant-batch: ")
    assert message.endswith("docs/rules/GPU506-on-demand-for-fault-tolerant-batch.md")
    assert "\n" not in message


def test_a_long_text_leaves_room_for_the_fix() -> None:
    message = compose("GPU101", "weights-exceed-vram", "chat", "word " * 200, "take g6e.xlarge")
    assert "Fix: take g6e.xlarge." in message


def test_at_most_two_alternatives_are_named() -> None:
    assert join_fixes(("a.", "", "b", "c")) == "a; or b"
    assert join_fixes(()) == ""


def test_a_text_is_cut_at_a_word() -> None:
    assert shorten("needs more memory", 12) == "needs more…"
    assert shorten("short", 12) == "short"


def test_names_lose_what_could_break_a_line_or_a_quote() -> None:
    assert printable("a\nb'c\x1b", 40) == "a?b?c?"
    assert printable("x" * 50, 10) == "x" * 9 + "…"


def test_a_question_ends_before_another_fix() -> None:
    asked = join_fixes(("did you mean a or b?", "describe it"))
    assert asked == "did you mean a or b? Or describe it"
    assert join_fixes(("one", "two")) == "one; or two"
