"""Did you mean: the nearest known words to a misspelt one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

MAX_SUGGESTIONS = 25
"""Words of one answer that are looked up; the search is quadratic in their length."""
MAX_LISTED = 12
"""Words that a message lists."""
MAX_WORD = 40
"""Longest word that is looked up, characters."""


def listed(words: Sequence[str]) -> str:
    """Words as prose: a, b or c."""
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else "".join(words)


class Suggestions:
    """Looks words up, a bounded number of them."""

    def __init__(self) -> None:
        """Start with the full number."""
        self._left = MAX_SUGGESTIONS

    def nearest(self, word: object, known: Iterable[str]) -> str | None:
        """The known word that is nearest, `None` when none is near."""
        if not isinstance(word, str) or not 0 < len(word) <= MAX_WORD or self._left <= 0:
            return None
        from gpusize_catalog.spelling import close_words

        self._left -= 1
        folded = {_fold(item): item for item in known}
        return next((folded[close] for close in close_words(_fold(word), folded, most=1)), None)

    def fix(self, word: object, known: Iterable[str], otherwise: str = "") -> str:
        """A fix that names the nearest word, and what else there is."""
        nearest = self.nearest(word, known)
        parts = [f"did you mean {nearest}?"] if nearest else []
        return " ".join([*parts, otherwise]) if otherwise else "".join(parts)

    def fix_word(self, word: object, known: Mapping[str, str]) -> str:
        """A fix for a word that is none of those known, by what they stand for."""
        ids = list(dict.fromkeys(known.values()))
        if len(ids) > MAX_LISTED:
            ids = [*ids[:MAX_LISTED], f"{len(ids) - MAX_LISTED} more"]
        return self.fix(word, known, f"one of {listed(ids)}")


def _fold(word: str) -> str:
    """Spellings of one word: case, hyphens and underscores do not count."""
    return word.lower().replace("-", "").replace("_", "")
