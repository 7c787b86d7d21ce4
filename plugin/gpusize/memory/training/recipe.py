"""What one trained parameter keeps: weight, master copy, gradient, moments."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Protocol

    from gpusize.workload import Optimizing

    class Recipes(Protocol):
        """A row that names what a trained parameter keeps."""

        @property
        def plain_recipe(self) -> str:
            """Without sharding, and with copies alone."""

        @property
        def zero_recipe(self) -> str:
            """With ZeRO."""

        @property
        def fsdp_recipe(self) -> str:
            """With FSDP."""

        @property
        def adapter_bytes(self) -> int:
            """Bytes of one adapter weight."""


ADAPTED = frozenset({"lora", "qlora", "dora"})
"""Methods that train an adapter beside frozen weights."""
WIDE = 4
"""Bytes of fp32."""
HALF = 2
"""Bytes of a 16-bit number."""


class Recipe(NamedTuple):
    """Bytes of one trained parameter."""

    weight: float
    master: float
    gradient: float
    moments: float
    moment: float
    """Bytes of one moment, of which a step may make a copy."""

    @property
    def states(self) -> float:
        """What the optimizer keeps: moments and the master copy."""
        return self.master + self.moments

    @property
    def total(self) -> float:
        """All that is kept from step to step."""
        return self.weight + self.gradient + self.states


BY_NAME: dict[str, tuple[float, float, float, float]] = {
    "pure": (HALF, 0, HALF, HALF),
    "mixed": (HALF, WIDE, HALF, WIDE),
    "mixed-fp32-gradients": (HALF, WIDE, WIDE, WIDE),
    "full": (WIDE, 0, WIDE, WIDE),
}
"""Weight, master copy, gradient and one moment of a recipe of the trainers table."""
EIGHT_BIT = 1 + WIDE / 256
"""Bytes of one 8-bit moment with its scale: a block has 256 (bitsandbytes)."""
MOMENTS: dict[str, tuple[float, float | None]] = {
    "adamw": (2, None),
    "adamw-8bit": (2, EIGHT_BIT),
    "paged-adamw-8bit": (2, EIGHT_BIT),
    "adafactor": (0.01, None),
    "muon": (1, None),
    "sgd": (0, None),
}
"""Moments of an optimizer, and bytes of one where the recipe does not say it. Adafactor keeps a row
and a column of each matrix: below 1 % of it."""
MODES_BY_COLUMN = {"zero-1": "zero", "zero-2": "zero", "zero-3": "zero", "fsdp": "fsdp"}
PAGED = "paged-adamw-8bit"
"""The optimizer whose moments move to the host when the GPU is full."""


def name_of(row: Recipes, mode: str) -> str:
    """The name of a trainer's recipe in a mode of sharding."""
    columns = {"zero": row.zero_recipe, "fsdp": row.fsdp_recipe}
    return columns.get(MODES_BY_COLUMN.get(mode, ""), row.plain_recipe)


def recipe_of(workload: Optimizing, row: Recipes, mode: str, *, is_wide: bool = False) -> Recipe:
    """The recipe of a trainer in a mode of sharding, with what is declared otherwise.

    Weights that are loaded `is_wide`, in fp32, are trained in it: so are their moments.
    """
    name = name_of(row, mode)
    return named(workload, "full" if name == "pure" and is_wide else name)


def named(workload: Optimizing, name: str) -> Recipe:
    """A recipe by its name, with what is declared otherwise."""
    return _declared(workload, *BY_NAME[name])


def adapter_recipe(workload: Optimizing, row: Recipes) -> Recipe:
    """The recipe of adapter weights."""
    size = row.adapter_bytes
    return _declared(workload, size, 0, size, size)


def _declared(
    workload: Optimizing, weight: float, master: float, gradient: float, moment: float
) -> Recipe:
    if workload.master_weights is not None:
        weight, master = (HALF, WIDE) if workload.master_weights else (weight, 0)
    sizes = {"fp32": WIDE, "bf16": HALF}
    if workload.gradient_precision is not None:
        gradient = sizes[workload.gradient_precision.value]
    count, own = MOMENTS[workload.optimizer.value]
    if workload.optimizer_precision is not None:
        moment = sizes[workload.optimizer_precision.value]
    if own is not None:
        moment = own
    return Recipe(weight, master, gradient, count * moment, moment if count >= 1 else 0)
