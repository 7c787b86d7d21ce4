"""What a fit says, as data."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Protocol

    class Cache(Protocol):
        """Bytes of what one rank keeps per sequence."""

        def bytes_for(self, tokens: int, sequences: int = 1) -> int:
            """Bytes that `sequences` sequences of `tokens` tokens keep on the worst rank."""
            ...

        def sequences_in(self, pool: int, tokens: int) -> float:
            """Sequences of `tokens` tokens that a pool of so many bytes holds at once."""
            ...

        def longest(self, pool: int, limit: int) -> int:
            """Tokens of the longest sequence that a pool holds, at most `limit`."""
            ...


class Verdict(str, Enum):
    """Whether the memory holds the work."""

    FITS = "fits"
    TIGHT = "tight"
    DOES_NOT_FIT = "does-not-fit"
    UNKNOWN = "unknown"


class Term(str, Enum):
    """What memory is used for."""

    WEIGHTS = "weights"
    KV_CACHE = "kv-cache"
    RECURRENT_STATE = "recurrent-state"
    ACTIVATIONS = "activations"
    CUDA_GRAPHS = "cuda-graphs"
    RUNTIME_OVERHEAD = "runtime-overhead"
    COMMUNICATION = "communication"
    GRADIENTS = "gradients"
    OPTIMIZER_STATES = "optimizer-states"
    GATHERED = "gathered"
    LOGITS = "logits"
    OPTIMIZER_STEP = "optimizer-step"
    LOADING = "loading"
    SAMPLING = "sampling"
    ALLOCATOR_SLACK = "allocator-slack"


class Assumption(NamedTuple):
    """A value that was not declared and what was taken for it."""

    field: str
    value: str
    why: str


class Output(NamedTuple):
    """What a fit says of work that has no sequences: pictures, sound, embeddings."""

    stage: str
    """The stage that needs most: load, encode text or pictures, denoise, decode, train, embed;
    generate, or transcribe."""
    largest_batch: int
    """Samples of the declared size, or texts, that one GPU takes at once; 0 where not one."""
    largest_width: int
    """Sides of the largest picture of the declared shape and batch; 0 where none, and for texts."""
    largest_height: int
    stored: int
    """Bytes of the weights as they are downloaded."""
    largest_seconds: float | None = None
    """Longest clip at the declared batch; 0 where none, None where length does not matter."""


CONFIDENCES = ((0.01, "high"), (0.025, "medium"))
"""Words for how far the need may be off, as a share of the budget: at most so much. Of measured
pools on known GPUs nine of ten lie within their band, whatever its word."""
LEAST_CONFIDENCE = "low"


class Fit(NamedTuple):
    """Memory of the worst GPU of a placement against its budget.

    `terms` are for one sequence of the declared context, which is what engines check at start;
    `need` is their sum. `kv_pool` is what is left of the budget for the cache, negative when the
    rest alone is too large. `band` is the one-sided error of `need`. Unknown figures are None, and
    then `verdict` is unknown and `reasons` says why.
    """

    verdict: Verdict
    reasons: tuple[str, ...]
    terms: tuple[tuple[Term, int], ...]
    need: int | None
    """Bytes needed by one full-context sequence on the worst GPU."""
    budget: int | None
    band: int
    kv_pool: int | None
    context_length: int
    limit: int
    """Tokens of the longest context that is looked for: the model's own limit."""
    cache: Cache | None
    dp: int
    assumptions: tuple[Assumption, ...]
    constants: tuple[str, ...]
    """Which rows of the engines table were used, as `engine version-range`."""
    sharding: str = ""
    """How the copies of a training run share what they keep; none, ddp, zero-1 … or fsdp."""
    host: int = 0
    """Bytes of host memory that the rank offloads to."""
    output: Output | None = None
    """Of work that has no sequences."""
    host_activations: int = 0
    """Part of `host` that is there for the backward pass alone."""
    running: int = 0
    """Sequences that one step of the engine runs at most."""
    state_block: int = 0
    """Bytes of the block that the state of one running sequence takes, where the engine refuses to
    start without one for each; else 0."""
    saved: tuple[int, int] | None = None
    """Bytes of the trained weights and of the optimizer's states of the rank, wherever they lie:
    what a checkpoint of a training run writes; None where terms alone say it."""
    measured: str = ""
    """The measurement that takes the place of the estimate, as GPU and day; mostly none."""

    @property
    def margin(self) -> int | None:
        """Budget minus need, negative when it does not fit."""
        if self.budget is None or self.need is None:
            return None
        return self.budget - self.need

    @property
    def confidence(self) -> str | None:
        """How sure the need is: high, medium or low; None where it is not known."""
        if not self.budget or self.need is None:
            return None
        share = self.band / self.budget
        return next((word for most, word in CONFIDENCES if share <= most), LEAST_CONFIDENCE)

    @property
    def sequences(self) -> float | None:
        """Sequences of the declared context at once in the whole replica (all dp ranks)."""
        if self.cache is None or self.kv_pool is None:
            return None
        return self.cache.sequences_in(self.kv_pool, self.context_length) * self.dp

    @property
    def longest_context(self) -> int | None:
        """Tokens of the longest single sequence that fits, up to the model's own limit."""
        if self.cache is None or self.kv_pool is None:
            return None
        return self.cache.longest(self.kv_pool, self.limit) if self.kv_pool > 0 else 0

    def term(self, term: Term) -> int:
        """Bytes of one term, 0 when the fit has none of it."""
        return dict(self.terms).get(term, 0)

    def sequences_at(self, tokens: int) -> int | None:
        """How many sequences of `tokens` tokens the replica's cache holds at once."""
        if self.cache is None or self.kv_pool is None:
            return None
        return int(self.cache.sequences_in(self.kv_pool, tokens)) * self.dp


def unknown(
    reasons: tuple[str, ...],
    context_length: int = 0,
    assumptions: tuple[Assumption, ...] = (),
    constants: tuple[str, ...] = (),
) -> Fit:
    """A fit without figures, and why."""
    return Fit(
        verdict=Verdict.UNKNOWN,
        reasons=reasons,
        terms=(),
        need=None,
        budget=None,
        band=0,
        kv_pool=None,
        context_length=context_length,
        limit=context_length,
        cache=None,
        dp=1,
        assumptions=assumptions,
        constants=constants,
    )
