"""A process that a resource starts: its words, its environment, its image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

USER_DATA = "user data"
CONTAINER = "its container"
PARAMETERS = "its hyperparameters"

FURTHER = "*"
"""Stands in an environment for variables that no text shows, as those of a file."""

NEEDLES = (
    "vllm",
    "sglang",
    "text-generation",
    "tgi",
    "llama-server",
    "llama.cpp",
    "ollama",
    "torchrun",
    "torch.distributed",
    "accelerate",
    "deepspeed",
    "djl",
    "trl sft",
    "trl dpo",
    "trl kto",
    "trl reward",
)
"""Parts of the commands and images that are known; a text without one starts none of them."""


class Launch(NamedTuple):
    """A process that is started.

    Secrets arrive in clear in such texts, so neither words nor values are ever shown: what was
    understood of them is in `Inferred`.
    """

    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    image: str = ""
    origin: str = USER_DATA
    """Where it was read, for messages."""

    def __repr__(self) -> str:
        """Show nothing of it: tracebacks and test reports print this."""
        return f"Launch(<{len(self.argv)} words>)"

    def __hash__(self) -> int:
        """Hash by content, the environment too."""
        return hash((self.argv, tuple(sorted(self.env.items())), self.image, self.origin))


def may_launch(text: str, needles: Sequence[str] = NEEDLES) -> bool:
    """Tell whether a text may start something known: a cheap test that never says no wrongly.

    `needles` are those of the whole text that it is part of.
    """
    lowered = text.lower()
    return any(needle in lowered for needle in needles)


def needles_in(text: str) -> tuple[str, ...]:
    """Return the needles that a text has."""
    lowered = text.lower()
    return tuple(needle for needle in NEEDLES if needle in lowered)
