"""How a row's program runs a pipeline: as the row states, else as the program does by itself.

Sources: Tencent/HunyuanVideo hyvideo/config.py (tiles unless it is told otherwise);
Wan-Video/Wan2.2 wan/text2video.py (what is sharded is not converted, and checkpoints are in fp32).
"""

from __future__ import annotations

from typing import NamedTuple

from bench.measured.frame import Row, Skip

SHARING = ("ulysses", "sequence parallel", "context parallel", "ring")
"""Ways in which GPUs share the tokens of one sample."""
SHARDED = "fsdp"
OFFLOADS = ("sequential", "model")


class Habit(NamedTuple):
    """What a program does that rows of it do not state."""

    tiling: bool = False
    sharded_format: str = "auto"
    """Format of denoisers whose weights are sharded."""


HABITS = {"Tencent/HunyuanVideo": Habit(tiling=True), "Wan-Video/": Habit(sharded_format="fp32")}
"""By how the source of a row begins; all others run diffusers."""


class Held(NamedTuple):
    """How a pipeline is held."""

    offload: str
    sharing: int
    """GPUs that share a sample."""
    sharded: bool


def habit_of(row: Row) -> Habit:
    """The habit of the row's program."""
    source = row["source"] or ""
    return next((habit for start, habit in HABITS.items() if source.startswith(start)), Habit())


def held(row: Row) -> Held:
    """Read what a row says of its GPUs and host memory; raises `Skip` where that is too little."""
    words = (row["offload"] or "none").lower()
    count = row["n_gpus"] or 1
    if count == 1:
        word = words.partition(",")[0]
        if word not in ("none", *OFFLOADS):
            raise Skip(f"offload {word}")
        return Held(word, 1, sharded=False)
    if not any(way in words for way in SHARING):
        raise Skip("one pipeline over several GPUs")
    waits = "model" if "offload" in words else "none"
    return Held(waits, count, SHARDED in words)
