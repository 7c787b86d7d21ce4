""" "Did you mean": known words that look like a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable

MOST_SUGGESTIONS = 3
CLOSENESS = 0.6
"""Least similarity (0 to 1) of a suggested word; difflib's own default."""
LONGEST_WORD = 200
"""Longer words are nobody's typing error, and comparing them would take long."""


def close_words(
    word: str,
    known: Iterable[str],
    most: int = MOST_SUGGESTIONS,
    closeness: float = CLOSENESS,
) -> tuple[str, ...]:
    """Return at most so many known words that look like a word, closest first."""
    if len(word) > LONGEST_WORD:
        return ()
    from difflib import get_close_matches

    lowered = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), lowered, most, closeness)
    return tuple(lowered[name] for name in close)


def did_you_mean(word: str, known: Iterable[str], most: int = MOST_SUGGESTIONS) -> str:
    """Return `did you mean a or b?`, or nothing."""
    close = close_words(word, known, most)
    return f"did you mean {' or '.join(close)}?" if close else ""
