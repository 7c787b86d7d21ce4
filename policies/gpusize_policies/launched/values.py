"""Reads the value of an option, strictly: what is not exactly of its shape is not understood.

So no text that was meant for something else, a secret say, can come out as a term.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Read = Callable[[str], object]
"""Reads a value; None where it is not understood."""

SILENT = object()
"""What an option says where its value leaves the matter to the engine."""

MOST = 10**9
"""Tokens, sequences or bytes above which a number is none of ours."""
LONGEST_NAME = 120
"""Characters of a model's name: the hub takes 96 for a repository (huggingface_hub,
utils/_validators.py), and an owner before it."""

_WHOLE = re.compile(r"\d{1,10}", re.ASCII)
_NUMBER = re.compile(r"\d{1,7}(?:\.\d{1,6})?|\.\d{1,6}", re.ASCII)
_SUFFIXED = re.compile(r"(\d{1,10})(?:\.(\d{1,6}))?([A-Za-z]{0,2})", re.ASCII)
_MODEL = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?", re.ASCII)
_VERSION = re.compile(r"v?(\d{1,3}(?:\.\d{1,4}){1,3})(?:[.-]?(?:post|rc)\d{1,3})?", re.ASCII)
_FILES = (".json", ".gguf", ".safetensors", ".bin", ".pt", ".yaml", ".yml", ".sh", ".py")

VLLM_SUFFIXES = {
    "k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30,
}  # fmt: skip
"""vLLM reads small letters as decimal, capitals as binary (vllm/engine/arg_utils.py,
human_readable_int)."""
SGLANG_SUFFIXES = {
    "k": 10**3, "M": 10**6, "G": 10**9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30,
}  # fmt: skip
"""SGLang reads those of the SI and of the IEC (sglang/srt/utils/common.py, human_readable_int)."""


def whole(text: str) -> int | None:
    """Read a number of things, from 1."""
    number = int(text) if _WHOLE.fullmatch(text) else 0
    return number if 0 < number <= MOST else None


def suffixed(suffixes: Mapping[str, int]) -> Read:
    """Make a reader of numbers that may end in a suffix, `32k`."""

    def read(text: str) -> object:
        match = _SUFFIXED.fullmatch(text)
        if match is None or (match.group(3) and match.group(3) not in suffixes):
            return None
        factor = suffixes.get(match.group(3), 1)
        decimals = match.group(2) or ""
        number = int(match.group(1) + decimals) * factor
        scale = 10 ** len(decimals)
        if number % scale or not 0 < number // scale <= MOST:
            return None
        return number // scale

    return read


def fraction(text: str) -> float | None:
    """Read a share of the memory."""
    number = float(text) if _NUMBER.fullmatch(text) else 0.0
    return number if 0 < number <= 1 else None


def amount(text: str) -> float | None:
    """Read an amount, 0 too."""
    return float(text) if _NUMBER.fullmatch(text) else None


def one_of(words: Mapping[str, object]) -> Read:
    """Make a reader of a list of words; `SILENT` stands for what says nothing."""

    def read(text: str) -> object:
        return words.get(text.lower())

    return read


def unless(silent: tuple[str, ...], read: Read) -> Read:
    """Make a reader for which some words leave the matter to the engine."""

    def either(text: str) -> object:
        return SILENT if text.lower() in silent else read(text)

    return either


def model(text: str) -> str | None:
    """Read a model's name on the hub; a path, an address or a bucket is none."""
    name = text.strip()
    known = len(name) <= LONGEST_NAME and _MODEL.fullmatch(name)
    return name if known and not name.lower().endswith(_FILES) else None


def version(text: str) -> str | None:
    """Read a version from a tag or a requirement: `v0.11.0`, `0.5.3.post1`."""
    match = _VERSION.match(text)
    if match is None or (text[match.end() : match.end() + 1] or "-") not in "-+_":
        return None
    return match.group(1)


def never(_text: str) -> None:
    """Understand no value: what such an option changes is not known here."""


def is_true(text: str) -> bool | None:
    """Read a switch that has a value."""
    return {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False,
            "no": False, "off": False}.get(text.lower())  # fmt: skip
