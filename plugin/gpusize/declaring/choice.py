"""The class that a declaration is read as: the declared kind's, or the nearest one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpusize.declaring.fields import fields_of
from gpusize.declaring.plain import Plain, join, show
from gpusize.declaring.suggest import Suggestions, listed
from gpusize.declaring.values import MISSING
from gpusize.workload import (
    RESERVED_KINDS,
    RESERVED_MODALITIES,
    WORKLOAD_CLASSES,
    Kind,
    Modality,
    Workload,
)


class Choice:
    """Kind, modality and class of one declaration; tells what is wrong with the first two.

    Where they are not certain, the nearest class is read, so that the other problems are told too.
    """

    def __init__(
        self, plain: Plain, suggestions: Suggestions, entries: Mapping[Any, Any], path: str
    ) -> None:
        """Choose by the entries of a declaration."""
        kind = _word(entries.get("kind"))
        modality = _word(entries.get("modality"))
        modality = Modality.TEXT.value if modality is None else modality
        cls = _class_of(kind, modality)
        self.certain = cls is not None
        self._is_reserved = kind in RESERVED_KINDS or modality in RESERVED_MODALITIES
        if cls is None:
            teller = _Teller(plain, suggestions)
            teller.tell(kind, join(path, "kind"), Kind, RESERVED_KINDS)
            teller.tell(modality, join(path, "modality"), Modality, RESERVED_MODALITIES)
            if _is_word(kind, Kind) and _is_word(modality, Modality):
                told = f"{kind} of modality {modality} cannot be sized yet"
                plain.report(join(path, "modality"), told, "leave it out for text")
        self.kind, self.modality, self.cls = _nearest(kind, modality, entries)

    def may_have(self, key: str) -> bool:
        """Whether a key may belong to the kind that was meant."""
        return self._is_reserved or any(key in fields_of(cls) for cls in WORKLOAD_CLASSES.values())


class _Teller:
    def __init__(self, plain: Plain, suggestions: Suggestions) -> None:
        self._plain = plain
        self._suggestions = suggestions

    def tell(
        self, word: Any, path: str, words: type[Kind] | type[Modality], later: Sequence[str]
    ) -> None:
        """Tell what is wrong with a kind or a modality, if anything is."""
        allowed = {member.value: member.value for member in words}
        if word is None:
            self._plain.report(path, MISSING, f"one of {listed(list(allowed))}")
        elif isinstance(word, str) and word in later:
            self._plain.report(
                path, f"{word} cannot be sized yet", f"one of {listed(list(allowed))}"
            )
        elif not isinstance(word, str) or word not in allowed:
            told = f"{show(word)} is not a known {words.__name__.lower()}"
            self._plain.report(path, told, self._suggestions.fix_word(word, allowed))


def _nearest(
    kind: Any, modality: Any, entries: Mapping[Any, Any]
) -> tuple[Kind, Modality, type[Workload]]:
    """The class of a kind and a modality, else the one that has most of the keys."""
    cls = _class_of(kind, modality)
    if cls is not None:
        return Kind(kind), Modality(modality), cls
    keys = {key for key in entries if isinstance(key, str)}

    def score(item: tuple[tuple[Kind, Modality], type[Workload]]) -> tuple[int, int, int]:
        (its_kind, its_modality), its_class = item
        common = len(keys & fields_of(its_class).keys())
        return its_kind == kind, its_modality == modality, common

    (near_kind, near_modality), near = max(WORKLOAD_CLASSES.items(), key=score)
    return near_kind, near_modality, near


def _class_of(kind: Any, modality: Any) -> type[Workload] | None:
    if not isinstance(kind, str) or not isinstance(modality, str):
        return None  # an enum would show in its error whatever stands here
    try:
        return WORKLOAD_CLASSES.get((Kind(kind), Modality(modality)))
    except ValueError:
        return None


def _is_word(word: Any, words: type[Kind] | type[Modality]) -> bool:
    return isinstance(word, str) and word in [member.value for member in words]


def _word(value: Any) -> Any:
    """The plain word of an enum member."""
    return getattr(value, "value", value)
