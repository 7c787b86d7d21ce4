"""Which part of a model a tensor belongs to, by its name, and the sums of each part."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from gpusize.architecture import Stored

if TYPE_CHECKING:
    from collections.abc import Iterable


class Tensor(NamedTuple):
    """One tensor of a file."""

    name: str
    shape: tuple[int, ...]
    size: int
    """Bytes."""
    kind: str
    """The file's name of its type."""

    @property
    def elements(self) -> int:
        """Numbers, as the shape tells; packed types tell fewer than the model has."""
        count = 1
        for width in self.shape:
            count *= width
        return count


PARTS = ("embedding", "head", "expert", "linear", "other")
RULES = (
    ("other", r"visual|vision|audio|multi_modal|mm_projector|^mlp1\.|^v\.|^mm\."),
    ("expert", r"_exps\.|(?<!shared_)experts\.(\d+\.|gate|up|down|w)"),
    ("other", r"norm|ln_|\bbias$|\.bias$|ffn_gate_inp|router|(mlp|moe|feed_forward)\.gate\."),
    ("other", r"ssm_(a|d|dt|conv1d)\b|conv1d|A_log|rope_freqs|position|\.sinks|e_score|exp_probs"),
    ("embedding", r"token_embd\.|embed_tokens\.|tok_embeddings\.|word_embeddings\.|\bwte\."),
    ("head", r"^output\.|lm_head\.|embed_out\.|^head\."),
)
"""The first that is found in a name decides; everything else is a projection."""
DRAFTS = re.compile(r"nextn|(^|\.)mtp\.|\bmtp_")
COMPILED = tuple([(part, re.compile(pattern)) for part, pattern in RULES])


def part_of(name: str) -> str:
    """The part of a model that a tensor belongs to."""
    for part, pattern in COMPILED:
        if pattern.search(name):
            return part
    return "linear"


class Sums(NamedTuple):
    """Bytes and numbers by part, in the order of `PARTS`."""

    sizes: tuple[int, ...]
    elements: tuple[int, ...]

    def stored(self, form: str) -> Stored:
        """The bytes as an architecture tells them."""
        return Stored(form, *self.sizes)


def sums_of(tensors: Iterable[Tensor]) -> Sums:
    """Add up by part."""
    sizes = dict.fromkeys(PARTS, 0)
    elements = dict.fromkeys(PARTS, 0)
    for tensor in tensors:
        part = part_of(tensor.name)
        sizes[part] += tensor.size
        elements[part] += tensor.elements
    return Sums(tuple(sizes.values()), tuple(elements.values()))
