"""Does a workload fit a placement: one pure function, and a form of it for many placements.

The verdict is `does-not-fit` where even the low end of the error band is beyond the budget,
`tight` where the margin lies inside the band or below the headroom that an upgrade of the engine
may eat, `fits` above, and `unknown` where a figure is missing. Kinds of work without a sizing here
(training, diffusion) are unknown too; `SIZINGS` is where they are added.
"""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory import formats, kernels, kv_cache, runtime, weights
from gpusize.memory.result import Assumption, Fit, Term, Verdict
from gpusize.memory.runtime import Batch, Budget, Device, Parts, Step
from gpusize_catalog.units import GIB, MIB, gib

if TYPE_CHECKING:
    from gpusize.architecture import Architecture
    from gpusize.memory.kv_cache import KvCache
    from gpusize.placement import Layout, Placement
    from gpusize.workload import Inference, Workload
    from gpusize_catalog.facts import EngineFacts, FormatFacts
    from gpusize_catalog.store import Catalog

HEADROOM_BYTES = GIB
HEADROOM_SHARE = 0.05
"""Margin below max(1 GiB, 5 % of the memory) is tight: estimates miss by 2 to 10 % (GPU104)."""
CACHE_ERROR = 0.005
"""Relative error of the cache's bytes: block rounding and scales."""
NVLINK = frozenset({"nvlink", "nvswitch"})
ALL = "all"
ALL_UNLESS_FRACTION = "all-unless-fraction"
OWN_DRAFT = frozenset({"mtp"})
FREE_DRAFT = frozenset({"ngram", "none"})
"""Ways of speculative decoding that hold no weights of their own."""


class Split(NamedTuple):
    """What one layout makes of the weights, for each stage that differs."""

    stage: weights.Stage
    weights: int


def fit(
    workload: Workload,
    placement: Placement,
    catalog: Catalog,
    architecture: Architecture | None = None,
) -> Fit:
    """Memory of the worst GPU of a placement; resolves the architecture where none is given."""
    if architecture is None:
        from gpusize.architecture import architecture_of

        architecture = architecture_of(workload.model, catalog)
    return Sizing(workload, architecture, catalog).fit(placement)


class Sizing:
    """One workload, sized for many placements; what depends only on part of one is kept."""

    __slots__ = (
        "_batches",
        "_caches",
        "_echoes",
        "_fits",
        "_kernels",
        "_row",
        "_splits",
        "architecture",
        "assumptions",
        "cache_bits",
        "catalog",
        "engine",
        "form",
        "number",
        "problems",
        "version",
        "workload",
    )

    def __init__(self, workload: Workload, architecture: Architecture, catalog: Catalog) -> None:
        """Resolve formats and the engine's row; what is missing becomes a problem of every fit."""
        self.workload: Inference = workload  # type: ignore[assignment]
        self.architecture = architecture
        self.catalog = catalog
        self.assumptions: list[Assumption] = []
        self.problems: list[str] = []
        self._splits: dict[tuple[int, ...], tuple[Split, ...]] = {}
        self._caches: dict[tuple[int, ...], KvCache] = {}
        self._fits: dict[tuple[object, ...], Fit] = {}
        self._kernels: dict[tuple[int, int] | None, str | None] = {None: kernels.NATIVE}
        self._batches: dict[Device, Batch] = {}
        self._echoes: dict[tuple[Batch, float | None], tuple[Assumption, ...]] = {}
        self._row: tuple[str, ...] = ()
        self.engine: EngineFacts | None = None
        self.form: FormatFacts | None = None
        self.cache_bits: float | None = None
        self.number = 2
        self.version: str | None = None
        if not hasattr(workload, "engine"):
            self.problems.append(f"memory of {workload.kind.value} is not modelled yet")
            return
        self._resolve_architecture()
        self._resolve_engine()
        self._resolve_formats()

    def fit(self, placement: Placement) -> Fit:
        """Memory of the worst GPU of a placement."""
        usable = placement.usable_bytes
        gpu = placement.gpu
        nvlink = placement.instance.interconnect.value in NVLINK
        key = (usable, gpu.compute_capability, gpu.cuda, nvlink, placement.layout)
        found = self._fits.get(key)
        if found is None:
            if not gpu.cuda:
                found = self._unknown(f"no engine constants for {gpu.display_name} (not CUDA)")
            elif usable is None:
                found = self._unknown(f"usable memory of {gpu.display_name} is not known")
            elif self.problems:
                found = self._unknown(*self.problems)
            else:
                device = Device(usable, gpu.compute_capability, nvlink)
                found = self._measure(device, placement.layout)
            self._fits[key] = found
        return found

    def _resolve_architecture(self) -> None:
        architecture = self.architecture
        if not architecture.known:
            reason = architecture.unknown_reason or "its layers are not known"
            self.problems.append(f"architecture of {architecture.name}: {reason}")
            return
        unbuilt = kv_cache.unbuilt_kind(architecture)
        if unbuilt:
            self.problems.append(f"architecture of {architecture.name}: {unbuilt}")
        draft = self.workload.engine.speculative
        if draft and draft not in OWN_DRAFT | FREE_DRAFT and self._draft_params() is None:
            self.problems.append(f"draft model {draft} is not in the catalog")

    def _resolve_engine(self) -> None:
        declared = self.workload.engine
        row = runtime.engine_row(self.catalog, declared.name, declared.version)
        if row is None:
            version = f" {declared.version}" if declared.version else ""
            self.problems.append(f"no memory constants for engine {declared.name}{version}")
            return
        self.engine = row
        self._row = (runtime.row_name(row),)
        self.version = declared.version or row.newest
        if declared.version is None:
            self._assume("engine.version", row.newest, "not declared: the newest version known")

    def _resolve_formats(self) -> None:
        workload = self.workload
        word = formats.resolved_format(workload.weights_format, self.architecture)
        if word is None:
            self.problems.append(f"format of the weights of {self.architecture.name} is not known")
            return
        self.form = formats.find_format(self.catalog, word)
        if self.form is None:
            self.problems.append(f"weights format {word} is not in the catalog")
            return
        if workload.weights_format == formats.AUTO:
            self._assume("weightsFormat", self.form.id, "not declared: the checkpoint's own")
        self.number = formats.compute_bytes(workload.compute_precision, self.form.id)
        self.cache_bits = formats.cache_bits(self.catalog, workload.kv_cache_format, self.number)
        if self.cache_bits is None:
            self.problems.append(f"KV cache format {workload.kv_cache_format} is not known")
        elif workload.kv_cache_format == formats.AUTO:
            self._assume("kvCacheFormat", f"{self.number * 8}-bit", "not declared: as computed")

    def _assume(self, field: str, value: str, why: str) -> None:
        self.assumptions.append(Assumption(field, value, why))

    def _draft_params(self) -> int | None:
        """Parameters of a separate draft model, by its catalog row."""
        model = self.catalog.find_model(self.workload.engine.speculative or "")
        return None if model is None else model.total_params

    def _unknown(self, *reasons: str) -> Fit:
        return Fit(
            Verdict.UNKNOWN,
            reasons,
            (),
            None,
            0,
            None,
            getattr(self.workload, "context_length", 0),
            None,
            None,
            None,
            1,
            tuple(self.assumptions),
            self._row,
        )

    def _batch(self, device: Device) -> Batch:
        """Tokens and sequences of one step, declared or the engine's default for the GPU."""
        found = self._batches.get(device)
        if found is None:
            assert self.engine is not None
            declared = self.workload.engine
            default = runtime.default_batch(self.engine, device, self.workload.context_length)
            found = Batch(
                declared.max_batched_tokens or default.tokens,
                declared.max_sequences or default.sequences,
                default.reserve_mib,
            )
            self._batches[device] = found
        return found

    def _split(self, layout: Layout) -> tuple[Split, ...]:
        """Weights of every stage that differs."""
        found = self._splits.get(layout)
        if found is None:
            assert self.engine is not None and self.form is not None
            found = tuple(
                Split(stage, self._stage_weights(layout, stage))
                for stage in weights.distinct_stages(self.architecture.layers, layout.pp)
            )
            self._splits[layout] = found
        return found

    def _stage_weights(self, layout: Layout, stage: weights.Stage) -> int:
        """Weights, drafts and adapters of one rank, less what stays in host memory."""
        assert self.engine is not None and self.form is not None
        declared = self.workload.engine
        size = weights.rank_bytes(self.architecture, self.form, self.engine, layout, stage)
        if declared.lora_adapters:
            size += weights.lora_bytes(self.architecture, declared.lora_adapters, layout.tp)
        if declared.speculative in OWN_DRAFT and stage.last:
            size += weights.draft_bytes(self.architecture, self.form, layout.tp)
        elif declared.speculative and declared.speculative not in FREE_DRAFT:
            size += (self._draft_params() or 0) * self.number // layout.tp
        return max(0, size - int(declared.cpu_offload_gib * GIB))

    def _cache(self, tp: int, batched: int, layers: int) -> KvCache:
        """The cache of a rank that holds so many layers."""
        key = (tp, batched, layers)
        found = self._caches.get(key)
        if found is None:
            assert self.engine is not None and self.cache_bits is not None
            share = layers / self.architecture.layers
            found = kv_cache.build(
                self.architecture, self.engine, tp, self.cache_bits, batched, share
            )
            self._caches[key] = found
        return found

    def _measure(self, device: Device, layout: Layout) -> Fit:
        """Add the terms of every stage and keep the worst."""
        assert self.engine is not None
        if self.engine.splits != "tensor":
            layout = layout._replace(tp=1, pp=layout.tp * layout.pp)
        if layout.pp > self.architecture.layers:
            return self._unknown("more pipeline stages than layers")
        if self._kernel(device) is None:
            return self._unknown(self._kernel_question(device))
        batch = self._batch(device)
        stages = [self._stage(device, layout, batch, split) for split in self._split(layout)]
        return min(stages, key=_room)

    def _kernel(self, device: Device) -> str | None:
        """How the engine runs the format there; a GPU without a capability is not asked about."""
        capability = device.capability
        if capability not in self._kernels:
            assert self.engine is not None and self.form is not None
            self._kernels[capability] = kernels.support(
                self.catalog, self.form.id, self.engine.engine, self.version, capability
            )
        return self._kernels[capability]

    def _kernel_question(self, device: Device) -> str:
        assert self.engine is not None and self.form is not None
        capability = ".".join([str(part) for part in device.capability or ()])
        return (
            f"whether {self.engine.engine} {self.version} runs {self.form.id} weights on compute "
            f"capability {capability} is not known"
        )

    def _stage(self, device: Device, layout: Layout, batch: Batch, split: Split) -> Fit:
        """The fit of one stage's rank."""
        engine = self.engine
        assert engine is not None and self.form is not None
        context = self.workload.context_length
        parts = self._parts(device, layout, batch, split)
        declared = self.workload.engine.memory_fraction
        fraction = declared or runtime.default_fraction(engine, device, batch, layout.gpus)
        budget = runtime.BUDGETS[engine.budget_of](device.usable, fraction or 1.0, parts)
        cache = self._cache(layout.tp, batch.tokens, split.stage.layers)
        state = cache.state_bytes * self._reserved(batch)
        kept = cache.bytes_for(context, self._reserved(batch))
        fixed = _fixed_terms(engine, parts)
        taken = sum([size for _, size in fixed])
        pool = budget.limit - taken
        band = self._band(parts, kept)
        terms = (
            fixed[0],
            (Term.KV_CACHE, kept - state),
            *(((Term.RECURRENT_STATE, state),) if state else ()),
            *fixed[1:],
        )
        limit = max(context, self.architecture.max_position or context)
        verdict, reasons = self._judge(device, budget, parts, pool - kept, band, kept)
        return Fit(
            verdict,
            reasons,
            terms,
            budget.limit,
            band,
            pool,
            context,
            cache.sequences_in(pool, context) * layout.dp,
            cache.longest(pool, limit) if pool > 0 else 0,
            cache,
            layout.dp,
            self._echo(batch, fraction),
            self._row,
        )

    def _reserved(self, batch: Batch) -> int:
        """Sequences that the engine lays the cache out for at start; most engines check one."""
        assert self.engine is not None
        declared = self.workload.engine.memory_fraction
        reserves = self.engine.reserves
        if reserves == ALL or (reserves == ALL_UNLESS_FRACTION and declared is None):
            return batch.sequences
        return 1

    def _parts(self, device: Device, layout: Layout, batch: Batch, split: Split) -> Parts:
        """Everything but the cache."""
        engine, architecture = self.engine, self.architecture
        assert engine is not None
        capability = device.capability
        step = Step(
            layout.tp,
            batch if split.stage.last else batch._replace(sequences=0),
            self.number,
            self.workload.context_length,
            capability is not None and capability < runtime.SORT_FREE_SAMPLING,
        )
        return Parts(
            weights=split.weights,
            activations=runtime.activation_bytes(engine, architecture, step),
            graphs=runtime.graph_bytes(
                engine, split.stage.layers, batch.sequences, self.workload.engine.eager
            ),
            runtime=round(engine.runtime_mib * MIB),
            communication=runtime.communication_bytes(engine, layout.tp, device),
            context=round(engine.context_mib * MIB),
            graphs_in_budget=engine.graphs_in_budget,
        )

    def _band(self, parts: Parts, kept: int) -> int:
        """Error of the need: root of the sum of squares of the terms' own errors."""
        assert self.engine is not None and self.form is not None
        loose = parts.activations + parts.runtime + parts.communication + parts.graphs
        return round(
            sqrt(
                (parts.weights * self.form.error) ** 2
                + (loose * self.engine.uncertainty) ** 2
                + (kept * CACHE_ERROR) ** 2
            )
        )

    def _judge(
        self, device: Device, budget: Budget, parts: Parts, margin: int, band: int, kept: int
    ) -> tuple[Verdict, tuple[str, ...]]:
        """Verdict and its reasons; the first reason names what binds."""
        engine = self.engine
        assert engine is not None
        missing = f"{gib(-margin)} more than the budget of {gib(budget.limit)}"
        if margin < -band:
            return Verdict.DOES_NOT_FIT, (self._binding(budget, parts, kept, missing),)
        reasons = []
        headroom = max(HEADROOM_BYTES, HEADROOM_SHARE * device.usable)
        if margin < 0:
            reasons.append(f"needs {missing}, which lies within the error of {gib(band)}")
        elif margin < max(band, headroom):
            reasons.append(f"only {gib(margin)} of {gib(budget.limit)} are left")
        if budget.slack < 0:
            reasons.append(
                f"{engine.engine} keeps {gib(-budget.slack)} more outside its budget than the GPU "
                "has left: it may start and run out of memory later"
            )
        return (Verdict.TIGHT if reasons else Verdict.FITS), tuple(reasons)

    def _binding(self, budget: Budget, parts: Parts, kept: int, missing: str) -> str:
        """Which term is too large, and what the engine does then."""
        assert self.engine is not None
        if parts.weights > budget.limit:
            text = f"weights alone take {gib(parts.weights)} of a budget of {gib(budget.limit)}"
        else:
            text = (
                f"one sequence of {self.workload.context_length} tokens needs {gib(kept)} of cache:"
                f" {missing}"
            )
        return f"{text}; {self.engine.engine} {_OUTCOMES[self.engine.budget_of]}"

    def _echo(self, batch: Batch, fraction: float | None) -> tuple[Assumption, ...]:
        """Everything that was taken for granted, with the values for this GPU."""
        found = self._echoes.get((batch, fraction))
        if found is None:
            found = (*self.assumptions, *self._defaults(batch, fraction))
            self._echoes[batch, fraction] = found
        return found

    def _defaults(self, batch: Batch, fraction: float | None) -> list[Assumption]:
        """Settings of the engine that were not declared."""
        assert self.engine is not None
        declared = self.workload.engine
        why = f"not declared: the default of {self.engine.engine} {self.version}"
        taken = []
        if declared.memory_fraction is None and fraction is not None:
            taken.append(Assumption("engine.memoryFraction", f"{fraction:.3g}", why))
        if declared.max_batched_tokens is None:
            taken.append(Assumption("engine.maxBatchedTokens", str(batch.tokens), why))
        if declared.max_sequences is None:
            taken.append(Assumption("engine.maxSequences", str(batch.sequences), why))
        return taken


_OUTCOMES = {
    "total": "refuses to start",
    "free": "starts with a pool below one request, or fails while loading",
    "free-after-weights": "cuts the context or fails while loading",
    "free-after-runtime": "refuses to start",
    "all": "moves layers to the host or runs out of memory",
}
"""What an engine does when it does not fit, by how it takes its memory."""


def _room(fit: Fit) -> int:
    """Margin of a stage, for choosing the worst."""
    margin = fit.margin
    return 0 if margin is None else margin


def _fixed_terms(engine: EngineFacts, parts: Parts) -> tuple[tuple[Term, int], ...]:
    """The terms that count in the engine's budget, cache apart; weights first."""
    terms = [(Term.WEIGHTS, parts.weights)]
    if engine.activations_in_budget:
        terms.append((Term.ACTIVATIONS, parts.activations))
    if engine.graphs_in_budget and parts.graphs:
        terms.append((Term.CUDA_GRAPHS, parts.graphs))
    terms.append((Term.RUNTIME_OVERHEAD, parts.runtime))
    if parts.communication:
        terms.append((Term.COMMUNICATION, parts.communication))
    return tuple(terms)
