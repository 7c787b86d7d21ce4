"""A model's architecture: what memory and timing need, from the catalog, a config.json or inline.

Parameters are split by how formats treat them, and the parts sum to the total. What a published
total says is never recounted: only the split is arithmetic.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gpusize_catalog.problems import GpuSizeError, Problem

if TYPE_CHECKING:
    from gpusize.pipeline import PipelineFacts
    from gpusize.workload import InlineModel, InlinePipeline, Workload
    from gpusize_catalog.facts import ModelFacts
    from gpusize_catalog.store import Catalog


class AttentionGroup(NamedTuple):
    """Layers that keep the same kind of state; per layer where not said otherwise."""

    kind: str
    """full, sliding, chunked, mla, indexed, csa, hca, linear, mamba, cross or none."""
    layers: int
    window: int | None = None
    """Tokens that a sliding or chunked layer keeps at most."""
    kv_heads: int = 0
    head_dim: int = 0
    """Width of one key head, and of one value head where `value_dim` is None."""
    value_dim: int | None = None
    index_dim: int | None = None
    """Width of the extra key of an indexed (sparse) layer; None: not known, or not one."""
    state_elements: int | None = None
    """Numbers of recurrent state per sequence (linear, mamba); None: not known, or none."""
    conv_elements: int | None = None
    """Numbers of convolution state per sequence (linear, mamba); None as above."""
    positions: int | None = None
    """Positions of the encoder that a cross layer keeps; None: not known, or not one."""


class Split(NamedTuple):
    """Parameters by how formats treat them."""

    embedding: int
    head: int
    expert: int
    linear: int
    other: int


class Stored(NamedTuple):
    """Bytes that weight files hold, by part, as their headers tell."""

    form: str
    """The catalog's name of their format; empty: it has none."""
    embedding: int = 0
    head: int = 0
    expert: int = 0
    linear: int = 0
    other: int = 0
    total: int = 0
    """Bytes of everything, where the parts are not told; else 0."""

    @property
    def whole(self) -> int:
        """Bytes of all parts."""
        return self.total or sum(self[1:6])


class Architecture(NamedTuple):
    """Geometry of a model, its state per layer, and its parameters by part."""

    name: str
    total_params: int
    active_params: int | None
    """Parameters that one text token touches, embeddings and head among them; no towers."""
    layers: int
    hidden: int
    intermediate: int | None
    heads: int
    kv_heads: int
    head_dim: int
    vocab: int
    tie_embeddings: bool
    max_position: int | None
    native_format: str | None
    """Format of the published weights; None: not known."""
    attention: tuple[AttentionGroup, ...]
    embedding_params: int
    head_params: int
    """Output head; 0 where it is the embedding table, or there is none."""
    expert_params: int
    """Routed experts of all layers."""
    linear_params: int
    """Projections of attention and of dense and shared MLPs: what quantization touches."""
    other_params: int
    """Norms, routers, positions, convolutions, towers: what quantization leaves alone."""
    latent_params: int | None = None
    """Attention projections of latent attention, part of `linear_params`; None: not known."""
    kv_lora_rank: int | None = None
    qk_rope_head_dim: int | None = None
    q_lora_rank: int | None = None
    """Width of the compressed query; None: not compressed, or not known."""
    experts_total: int | None = None
    experts_active: int | None = None
    shared_experts: int | None = None
    moe_intermediate: int | None = None
    first_dense_layers: int | None = None
    mtp_layers: int | None = None
    """Layers for drafts that the checkpoint holds beside `total_params`."""
    encoder_layers: int | None = None
    vision_params: int | None = None
    """Towers for images or sound, part of `other_params`."""
    vision_heads: int | None = None
    image_patches: int | None = None
    """Patches of the largest image; None: not known."""
    known: bool = True
    unknown_reason: str = ""
    """Why the state per token cannot be computed."""
    assumption: str = ""
    """What was assumed to find the model; empty where its id was given."""
    stored: Stored | None = None
    """Exact bytes of its files; None: only its parameters are known."""
    pipeline: PipelineFacts | None = None
    """The components of a pipeline; the fields above then say that it is never split."""

    @property
    def is_latent(self) -> bool:
        """Whether the cache holds a compressed latent state (MLA)."""
        return self.kv_lora_rank is not None


CACHING_KINDS = frozenset({"full", "sliding", "chunked", "mla", "indexed", "csa", "hca"})
"""Kinds of layers whose state grows with the sequence, up to a window."""
RECURRENT_KINDS = frozenset({"linear", "mamba"})
"""Kinds of layers whose state does not grow."""
STATELESS_KINDS = frozenset({"none", "moe", "mlp"})
"""Kinds of layers without attention."""
UNBUILT_KINDS = {
    "compressed": "compressed attention is not counted from a configuration: name the catalog's id"
}
"""Kinds that are known by name only, and what is said of them."""
COMPRESSED_KINDS = frozenset({"csa", "hca"})
"""Attention over entries that each stand for several tokens, beside a window of all tokens."""


def architecture_of(
    model: str | InlineModel | InlinePipeline,
    catalog: Catalog,
    base_dir: Path | None = None,
    makes: str = "",
) -> Architecture:
    """Return the architecture of a catalog id or alias, a config.json path, or an inline model.

    `makes` is the modality that a pipeline given by its components is declared for.

    A text that ends in `.json`, or begins like a path, is a path, relative to `base_dir`. Raises
    `GpuSizeError` for an unknown id and for a file that cannot be read as a configuration.
    """
    if not isinstance(model, str):
        return _of_inline(model, makes)
    if not is_path(model):
        return _of_name(model, catalog)
    from gpusize.weight_files import is_weight_file, read_weight_file

    if is_weight_file(model):
        return read_weight_file(model, base_dir)
    from gpusize.hub_config import read_config

    return read_config(model, base_dir)


def architecture_for(
    workload: Workload, catalog: Catalog, base_dir: Path | None = None
) -> Architecture:
    """Return the architecture of a workload's model, which must do what is declared.

    Raises `GpuSizeError` as `architecture_of`, and for a model of another modality.
    """
    architecture = architecture_of(workload.model, catalog, base_dir, workload.modality.value)
    from gpusize.purpose import require

    require(workload, architecture, catalog)
    return architecture


def _of_name(name: str, catalog: Catalog) -> Architecture:
    """Architecture of a model or pipeline of the catalog."""
    from gpusize.pipeline import find_pipeline

    pipeline = find_pipeline(name, catalog)
    if pipeline is not None:
        return _of_pipeline(pipeline, name)
    facts, assumption = catalog.model_match(name)
    return _of_facts(facts, assumption)


def _of_pipeline(pipeline: PipelineFacts, name: str) -> Architecture:
    """A pipeline as one layer with one head: whole on each GPU."""
    return Architecture(
        name=pipeline.name,
        total_params=pipeline.params,
        active_params=None,
        layers=1,
        hidden=1,
        intermediate=None,
        heads=1,
        kv_heads=1,
        head_dim=1,
        vocab=0,
        tie_embeddings=False,
        max_position=None,
        native_format=None,
        attention=(),
        embedding_params=0,
        head_params=0,
        expert_params=0,
        linear_params=0,
        other_params=pipeline.params,
        assumption="" if name == pipeline.name else f"taken as {pipeline.name}",
        pipeline=pipeline,
    )


FILE_ENDINGS = (".json", ".gguf", ".safetensors")
"""How the names of files end that tell a model."""


def is_path(model: str) -> bool:
    """Whether a model is named by a file."""
    return model.endswith(FILE_ENDINGS) or model.startswith(("./", "../", "/"))


def _of_facts(facts: ModelFacts, assumption: str) -> Architecture:
    """Architecture of a catalog row; experts follow from total and active parameters."""
    groups = _groups_of(facts)
    split, unknown = _split_of(facts, groups)
    unknown = unknown or _unbuilt(groups)
    return Architecture(
        name=facts.id,
        total_params=facts.total_params,
        active_params=facts.active_params,
        layers=facts.layers,
        hidden=facts.hidden,
        intermediate=facts.intermediate,
        heads=facts.heads,
        kv_heads=facts.kv_heads,
        head_dim=facts.head_dim,
        vocab=facts.vocab,
        tie_embeddings=facts.tie_embeddings,
        max_position=facts.max_position,
        native_format=facts.native_format,
        attention=groups,
        embedding_params=split.embedding,
        head_params=split.head,
        expert_params=split.expert,
        linear_params=split.linear,
        other_params=split.other,
        kv_lora_rank=facts.kv_lora_rank,
        qk_rope_head_dim=facts.qk_rope_head_dim,
        q_lora_rank=facts.q_lora_rank,
        experts_total=facts.experts_total,
        experts_active=facts.experts_active,
        shared_experts=facts.shared_experts,
        moe_intermediate=_expert_width(facts),
        first_dense_layers=facts.first_dense_layers,
        mtp_layers=facts.mtp_layers,
        encoder_layers=facts.encoder_layers,
        vision_params=facts.vision_params,
        image_patches=facts.image_patches,
        known=not unknown,
        unknown_reason=unknown,
        assumption=assumption,
    )


def _expert_width(facts: ModelFacts) -> int | None:
    return facts.moe_intermediate or (facts.intermediate if facts.experts_total else None)


def _groups_of(facts: ModelFacts) -> tuple[AttentionGroup, ...]:
    """State per layer of a catalog row: its pattern, or one kind for all layers."""
    entries = facts.layer_pattern.split(";") if facts.layer_pattern else []
    pattern = [(kind.strip(), int(count)) for kind, _, count in map(_cut, entries)]
    if not pattern:
        pattern = [(_only_kind(facts), facts.layers)]
    groups = [_group(kind, layers, facts) for kind, layers in pattern]
    if facts.attention_kind in ("mha-encoder-decoder", "mha-cross"):
        groups.append(_group("cross", facts.layers, facts))
    return tuple(groups)


def _cut(entry: str) -> tuple[str, str, str]:
    return entry.partition(":")


def _only_kind(facts: ModelFacts) -> str:
    """Kind of layers that are all alike."""
    if facts.attention_kind == "mha-encoder":
        return "none"
    if facts.kv_lora_rank is not None:
        return "mla"
    return "sliding" if facts.sliding_window else "full"


def _group(kind: str, layers: int, facts: ModelFacts) -> AttentionGroup:
    if kind in STATELESS_KINDS:
        return AttentionGroup("none", layers)
    if kind in RECURRENT_KINDS:
        return AttentionGroup(
            kind,
            layers,
            state_elements=facts.state_elements,
            conv_elements=facts.conv_elements,
        )
    if kind == "full" and facts.kv_lora_rank is not None:
        kind = "mla"
    window = facts.sliding_window if kind in ("sliding", "csa", "hca") else None
    heads, width = facts.kv_heads, facts.head_dim
    if kind == "full":
        heads, width = facts.full_kv_heads or heads, facts.full_head_dim or width
    positions = facts.encoder_positions if kind == "cross" else None
    return AttentionGroup(kind, layers, window, heads, width, positions=positions)


def _unbuilt(groups: tuple[AttentionGroup, ...]) -> str:
    """Why the state of some layers cannot be computed, empty when all can."""
    built = CACHING_KINDS | RECURRENT_KINDS | {"none", "cross"}
    for group in groups:
        if group.kind in UNBUILT_KINDS:
            return UNBUILT_KINDS[group.kind]
        if group.kind not in built:
            return f"layers of kind {group.kind} are not known"
        if group.kind == "sliding" and group.window is None:
            return f"the window of {group.layers} {group.kind} layers is not known"
    return ""


def _split_of(facts: ModelFacts, groups: tuple[AttentionGroup, ...]) -> tuple[Split, str]:
    """Split of a row's total, and why it is not known where it does not add up."""
    table = facts.vocab * facts.hidden
    is_headless = facts.tie_embeddings or facts.modality == "embedding"
    head = 0 if is_headless else table
    expert = _routed(facts)
    norms = (2 * facts.layers + 1) * facts.hidden
    routers = _moe_layers(facts) * facts.hidden * (facts.experts_total or 0)
    fixed = table + head + (facts.vision_params or 0) + norms + routers
    rest = facts.total_params - fixed - expert
    if rest < 0:
        expert = max(0, facts.total_params - fixed)
        other = facts.total_params - table - head - expert
        return Split(table, head, expert, 0, other), "its parts are more than its parameters"
    linear = min(rest, _linear(facts, groups, rest))
    other = facts.total_params - table - head - expert - linear
    return Split(table, head, expert, linear, other), ""


def _moe_layers(facts: ModelFacts) -> int:
    """Layers with routed experts, where only the pattern tells."""
    if not facts.experts_total:
        return 0
    for kind, _, count in map(_cut, facts.layer_pattern.split(";")):
        if kind.strip() == "moe":
            return int(count)
    return facts.layers - (facts.first_dense_layers or 0)


def _routed(facts: ModelFacts) -> int:
    """Parameters of the routed experts: a token leaves the others of each layer aside."""
    total, active = facts.experts_total, facts.experts_active
    if not total or not active:
        return 0
    if facts.active_params is not None and total > active:
        idle = facts.total_params - (facts.vision_params or 0) - facts.active_params
        return idle * total // (total - active)
    width = _expert_width(facts) or 0
    return _moe_layers(facts) * total * GATED * facts.hidden * width


GATED = 3
"""Matrices of a gated MLP: gate, up, down."""
PLAIN = 2
"""Matrices of a plain MLP: up, down."""


def _linear(facts: ModelFacts, groups: tuple[AttentionGroup, ...], rest: int) -> int:
    """Parameters of the projections, `rest` where the row does not tell their geometry.

    Whether the MLP is gated is what comes nearer to what is left of the total.
    """
    kinds = {group.kind for group in groups}
    is_plain = kinds <= {"full", "sliding", "chunked", "none"} and "none" not in kinds
    if not is_plain or facts.intermediate is None or facts.encoder_layers:
        return rest
    if facts.experts_total and facts.first_dense_layers is None:
        return rest
    width = facts.head_dim * (facts.heads + facts.kv_heads) * 2
    attention = facts.layers * facts.hidden * width
    dense = facts.first_dense_layers if facts.experts_total else facts.layers
    shared = (facts.shared_experts or 0) * (_expert_width(facts) or 0)
    per_matrix = facts.hidden * (
        (dense or 0) * facts.intermediate + (facts.layers - (dense or 0)) * shared
    )
    sums = [attention + matrices * per_matrix for matrices in (PLAIN, GATED)]
    return min(sums, key=lambda total: abs(total - rest))


def _of_inline(model: InlineModel | InlinePipeline, makes: str) -> Architecture:
    from gpusize.inline_model import facts_of
    from gpusize.workload import InlinePipeline

    if isinstance(model, InlinePipeline):
        from gpusize.inline_pipeline import pipeline_of

        return _of_pipeline(pipeline_of(model, makes), model.name)

    return _of_facts(facts_of(model), "")


def problem(message: str, fix: str = "", path: str = "model") -> GpuSizeError:
    """An error about the model of a declaration."""
    return GpuSizeError([Problem(path, message, fix)])
