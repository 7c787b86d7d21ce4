"""Memory of generating tokens: weights, cache and runtime of the worst rank of a replica."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize.memory import kernels, kv_cache, neighbors, runtime, setup, verdict, weights
from gpusize.memory.result import Assumption, Fit, unknown
from gpusize.memory.runtime import Batch, Device, Parts, Step
from gpusize.memory.serving_rank import (
    Rank,
    Split,
    binding,
    cache_terms,
    fixed_terms,
    kernel_question,
    laid_out,
    room,
)
from gpusize.placement import Layout
from gpusize_catalog.units import GIB, MIB

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.memory.kv_cache import KvCache
    from gpusize.workload import Inference
    from gpusize_catalog.facts import EngineFacts, KernelSupport
    from gpusize_catalog.store import Catalog

ALL = "all"
ALL_UNLESS_FRACTION = "all-unless-fraction"
"""Words of the engines table: for how many sequences a cache is laid out at start."""
TENSOR = "tensor"
"""Word of the engines table: ranks share every layer."""
SURE_SHARE = 0.8
"""Part of what one GPU needs that several need together for certain: pieces add to it, the error of
the estimate takes from it."""


class Serving:
    """One workload that generates tokens; what depends only on part of a placement is kept."""

    __slots__ = (
        "_activations",
        "_batches",
        "_caches",
        "_echoes",
        "_floors",
        "_kernels",
        "_ranks",
        "_splits",
        "architecture",
        "assumptions",
        "catalog",
        "constants",
        "problems",
        "setup",
        "workload",
    )

    def __init__(self, workload: Inference, architecture: Architecture, catalog: Catalog) -> None:
        """Resolve engine and formats; what is missing becomes a problem of every fit."""
        self.workload = workload
        self.architecture = architecture
        self.catalog = catalog
        resolved = setup.resolve(workload, architecture, catalog)
        self.setup = resolved.setup
        self.problems = resolved.problems
        self.assumptions = resolved.assumptions
        if getattr(workload, "images", None) is not None:
            from gpusize.memory.training.vision import where_images_count

            self.assumptions.append(where_images_count(architecture, "promptTokens"))
        self.constants = resolved.constants
        self._splits: dict[tuple[int, ...], tuple[Split, ...]] = {}
        self._floors: dict[Layout, int] = {}
        self._caches: dict[tuple[int, ...], KvCache] = {}
        self._ranks: dict[tuple[object, ...], Rank] = {}
        self._kernels: dict[tuple[int, int], KernelSupport | None] = {}
        self._activations: dict[Step, int] = {}
        self._batches: dict[Device, Batch] = {}
        self._echoes: dict[tuple[Batch, float | None], tuple[Assumption, ...]] = {}

    def measure(self, device: Device, layout: Layout) -> Fit:
        """Size every stage that differs and keep the worst."""
        known = self.setup
        if known is None:
            return unknown(tuple(self.problems))
        if device.capability and self._kernel(known, device.capability) is None:
            return unknown((kernel_question(known, device.capability),))
        layout = self._ranked(known, layout)
        if layout.pp > self.architecture.layers:
            return unknown((f"{layout.pp} stages are more than the model has layers",))
        batch = self._batch(known, device)
        splits = self._split(known, layout)
        stages = [self._stage(known, device, layout, batch, split) for split in splits]
        return min(stages, key=room) if len(stages) > 1 else stages[0]

    def floor(self, layout: Layout) -> int:
        """Bytes of a rank below which no GPU can be: weights and one sequence, less the error.

        Cheaper than a fit; what else a rank needs, and its error, only add to it.
        """
        known = self.setup
        if known is None:
            return 0
        found = self._floors.get(layout)
        if found is None:
            found = self._floors[layout] = self._floor(known, self._ranked(known, layout))
        return found

    def least(self) -> float:
        """Bytes below which no GPUs together can be, by what one of them would hold alone."""
        # Each rank may leave a part of its weights to the host: together they need not hold all.
        if self.workload.engine.cpu_offload_gib:
            return 0.0
        return SURE_SHARE * self.floor(Layout())

    def _floor(self, known: setup.Setup, layout: Layout) -> int:
        if layout.pp > self.architecture.layers:
            return 0
        least = 0
        for split in self._split(known, layout):
            cache = self._cache(known, layout.tp, 1, split.stage.layers)
            kept = cache.bytes_for(self.workload.context_length)
            error = verdict.band(known.engine, known.form, split.weights, 0, kept * cache.error)
            least = max(least, split.weights + kept - error)
        return least

    def _ranked(self, known: setup.Setup, layout: Layout) -> Layout:
        """The layout as the engine takes it: some give each rank whole layers."""
        if known.engine.splits == TENSOR:
            return layout
        return layout._replace(tp=1, pp=layout.tp * layout.pp)

    def _kernel(self, known: setup.Setup, capability: tuple[int, int]) -> KernelSupport | None:
        """How the engine runs the format on a compute capability."""
        if capability not in self._kernels:
            self._kernels[capability] = kernels.find(
                self.catalog, known.form.id, known.engine.engine, known.version, capability
            )
        return self._kernels[capability]

    def _extra(self, known: setup.Setup, capability: tuple[int, int] | None) -> tuple[int, float]:
        """Bytes that the format's kernels take after the engine measured, and copies of outputs."""
        row = self._kernel(known, capability) if capability else None
        return (round((row.late_mib or 0) * MIB), row.output_copies or 0.0) if row else (0, 0.0)

    def _batch(self, known: setup.Setup, device: Device) -> Batch:
        """Tokens and sequences of one step, declared or the engine's default for the GPU."""
        found = self._batches.get(device)
        if found is None:
            declared = self.workload.engine
            default = runtime.default_batch(known.engine, device, self.workload.context_length)
            found = Batch(
                declared.max_batched_tokens or default.tokens,
                declared.max_sequences or default.sequences,
                default.reserve_mib,
            )
            self._batches[device] = found
        return found

    def _split(self, known: setup.Setup, layout: Layout) -> tuple[Split, ...]:
        """Weights of every stage that differs."""
        found = self._splits.get(layout)
        if found is None:
            stages = weights.distinct_stages(self.architecture.layers, layout.pp)
            found = tuple([Split(stage, self._weights(known, layout, stage)) for stage in stages])
            self._splits[layout] = found
        return found

    def _weights(self, known: setup.Setup, layout: Layout, stage: weights.Stage) -> int:
        """Weights, drafts and adapters of one rank, less what stays in host memory."""
        declared = self.workload.engine
        size = weights.rank_bytes(self.architecture, known.form, known.engine, layout, stage)
        if declared.lora_adapters:
            size += weights.lora_bytes(self.architecture, declared.lora_adapters, layout.tp)
        if declared.speculative == setup.OWN_DRAFT and stage.last:
            size += weights.draft_bytes(self.architecture, known.form, layout.tp)
        size += known.draft_params * known.number // layout.tp
        return max(0, size - int(declared.cpu_offload_gib * GIB))

    def _cache(self, known: setup.Setup, tp: int, batched: int, layers: int) -> KvCache:
        """The cache of a rank that holds so many layers."""
        key = (tp, batched, layers)
        found = self._caches.get(key)
        if found is None:
            share = layers / self.architecture.layers
            found = kv_cache.build(
                self.architecture, known.engine, tp, known.cache_bits, batched, share
            )
            self._caches[key] = found
        return found

    def _stage(
        self, known: setup.Setup, device: Device, layout: Layout, batch: Batch, split: Split
    ) -> Fit:
        """The fit of one stage's rank."""
        engine = known.engine
        context = self.workload.context_length
        rank = self._rank(known, device, layout, batch, split)
        if device.taken is not None:
            from gpusize.memory.measured import rank_of

            state = rank.cache.state_bytes * self._reserved(engine, batch)
            rank = rank_of(rank, engine, device.taken, state)
        parts, cache, kept = rank.parts, rank.cache, rank.kept
        fraction = self._fraction(engine, device, batch, layout)
        free = device.usable
        if self.workload.neighbors and not neighbors.is_share_of_all(engine):
            free = max(0, free - neighbors.held(self.workload.neighbors, free))
        budget = runtime.BUDGETS[engine.budget_of](free, fraction or 1.0, parts)
        pool = budget.limit - rank.taken
        judged, reasons = verdict.judge(
            engine,
            device.usable,
            budget,
            pool - kept,
            rank.error,
            binding(parts, budget.limit, kept, context),
        )
        if crowd := self._crowd(engine, device, budget.limit):
            judged, reasons = verdict.at_most_tight(judged, reasons, crowd)
        return Fit(
            judged,
            reasons,
            rank.terms,
            rank.taken + kept,
            budget.limit,
            rank.error,
            pool,
            context,
            max(context, self.architecture.max_position or context),
            cache,
            layout.dp,
            self._echo(known, batch, fraction),
            self.constants,
            running=batch.sequences,
            state_block=cache.unit if self._checks_state(engine, cache) else 0,
        )

    def _fraction(
        self, engine: EngineFacts, device: Device, batch: Batch, layout: Layout
    ) -> float | None:
        """The memory fraction: declared, else the engine's own, or what the neighbors leave."""
        declared = self.workload.engine.memory_fraction
        if declared is not None:
            return declared
        own = runtime.default_fraction(engine, device, batch, layout.gpus)
        around = self.workload.neighbors
        if own is None or not around or not neighbors.is_share_of_all(engine):
            return own
        theirs = neighbors.held(around, device.usable)
        outside = round(engine.context_mib * MIB)
        return min(own, neighbors.fraction_left(device.usable, theirs, outside))

    def _crowd(self, engine: EngineFacts, device: Device, limit: int) -> str:
        """What neighbors leave no room for: a share of all memory that is declared beside them."""
        around = self.workload.neighbors
        declared = self.workload.engine.memory_fraction
        if not around or declared is None or not neighbors.is_share_of_all(engine):
            return ""
        outside = round(engine.context_mib * MIB)
        return neighbors.crowd(device.usable, neighbors.held(around, device.usable), limit, outside)

    def _checks_state(self, engine: EngineFacts, cache: KvCache) -> bool:
        """Whether the engine asks for a block of state for each sequence: to capture graphs."""
        checks = engine.state_blocks and not self.workload.engine.eager
        return bool(checks and cache.state_bytes)

    def _rank(
        self, known: setup.Setup, device: Device, layout: Layout, batch: Batch, split: Split
    ) -> Rank:
        """What the rank needs, once for all GPUs that differ in their memory alone."""
        capability = device.capability
        sorts = capability is not None and capability < runtime.SORT_FREE_SAMPLING
        ranks = max(layout.tp, layout.ep)
        communication = runtime.communication_bytes(known.engine, ranks, device)
        late, copies = self._extra(known, capability)
        key = (layout.tp, split, batch, sorts, communication, late, copies)
        found = self._ranks.get(key)
        if found is None:
            step = Step(
                layout.tp,
                batch if split.stage.last else batch._replace(sequences=0),
                known.number,
                self.workload.context_length,
                sorts,
                copies,
            )
            found = self._ranks[key] = self._needs(known, step, batch, split, (communication, late))
        return found

    def _needs(
        self,
        known: setup.Setup,
        step: Step,
        batch: Batch,
        split: Split,
        outside: tuple[int, int],
    ) -> Rank:
        """The same for a rank whose `outside` are buffers of NCCL and what kernels take late."""
        engine = known.engine
        parts = self._parts(engine, step, batch, split, outside)
        cache = self._cache(known, step.tp, batch.tokens, split.stage.layers)
        reserved = self._reserved(engine, batch)
        kept = laid_out(engine, cache, self.workload.context_length, reserved)
        fixed = fixed_terms(engine, parts)
        taken = sum([size for _, size in fixed])
        return Rank(
            parts,
            taken,
            cache,
            kept,
            (fixed[0], *cache_terms(kept, cache.state_bytes * reserved), *fixed[1:]),
            verdict.band(
                engine, known.form, parts.weights, taken - parts.weights, kept * cache.error
            ),
        )

    def _reserved(self, engine: EngineFacts, batch: Batch) -> int:
        """Sequences that the engine lays the cache out for at start; most engines check one."""
        declared = self.workload.engine.memory_fraction
        if engine.reserves == ALL or (engine.reserves == ALL_UNLESS_FRACTION and declared is None):
            return batch.sequences
        return 1

    def _parts(
        self,
        engine: EngineFacts,
        step: Step,
        batch: Batch,
        split: Split,
        outside: tuple[int, int],
    ) -> Parts:
        """Everything but the cache; only the last stage samples."""
        eager = self.workload.engine.eager
        return Parts(
            split.weights,
            self._activation(engine, step),
            runtime.graph_bytes(engine, split.stage.layers, batch.sequences, eager),
            round(engine.runtime_mib * MIB),
            outside[0],
            round(engine.context_mib * MIB),
            engine.graphs_in_budget,
            outside[1],
        )

    def _activation(self, engine: EngineFacts, step: Step) -> int:
        """Activations of a step, which many ranks share."""
        found = self._activations.get(step)
        if found is None:
            found = runtime.activation_bytes(engine, self.architecture, step)
            self._activations[step] = found
        return found

    def _echo(
        self, known: setup.Setup, batch: Batch, fraction: float | None
    ) -> tuple[Assumption, ...]:
        """Everything that was taken for granted, with the values for this GPU."""
        found = self._echoes.get((batch, fraction))
        if found is None:
            found = (*self.assumptions, *self._defaults(known, batch, fraction))
            self._echoes[batch, fraction] = found
        return found

    def _defaults(
        self, known: setup.Setup, batch: Batch, fraction: float | None
    ) -> list[Assumption]:
        """Settings of the engine that were not declared."""
        declared = self.workload.engine
        why = f"not declared: the default of {known.engine.engine} {known.version}"
        taken = []
        if declared.memory_fraction is None and fraction is not None:
            given = why
            if self.workload.neighbors and fraction != known.engine.memory_fraction:
                given = "not declared: what the neighbors leave"
            taken.append(Assumption("engine.memoryFraction", f"{fraction:.3g}", given))
        if declared.max_batched_tokens is None:
            taken.append(Assumption("engine.maxBatchedTokens", str(batch.tokens), why))
        if declared.max_sequences is None:
            taken.append(Assumption("engine.maxSequences", str(batch.sequences), why))
        return taken
