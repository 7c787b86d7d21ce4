"""What the work asks, as plain numbers: read once from the workload, used for every candidate."""

from __future__ import annotations

from typing import Any, NamedTuple

from gpusize.checkpointing import LOST_WITH_INSTANCE
from gpusize.memory.result import Assumption
from gpusize.workload import (
    BATCHED,
    Audio,
    BatchInference,
    Bounded,
    DiffusionTraining,
    Embedding,
    Engine,
    Generation,
    Images,
    Inference,
    InterruptionTolerance,
    Kind,
    Optimizing,
    Service,
    Serving,
    Traffic,
    TrafficShape,
    Training,
    Workload,
)

MILLISECOND = 1e-3
HOURS_PER_WEEK = 24 * 7

TYPICAL_PROMPT_TOKENS = 1024
"""Prompt of an ordinary chat turn: taken for speed where no token counts are declared, and said."""
TYPICAL_OUTPUT_TOKENS = 256
"""Answer of an ordinary chat turn, used likewise. Memory is never judged by these two."""
PIPELINES = "diffusers"
"""What runs pipelines that make pictures."""
EMBEDDERS = "transformers"
"""What runs models that embed texts."""
SOUND = "PyTorch"
"""What runs models of sound, by transformers or by diffusers."""
OUTPUT_SHARE = 4
"""One part in so many of a short context is taken for the answer."""


class Demand(NamedTuple):
    """The numbers of one workload; seconds, hours, tokens.

    What a kind does not have stands at a value that asks nothing.
    """

    kind: Kind
    engine: str
    interruptible: bool
    concurrency: int
    context_length: int = 0
    offload_gib: float = 0.0
    """Weights of one GPU that stay in host memory."""
    user_facing: bool = False
    tokens_declared: bool = True
    """Whether both prompt and output tokens are declared; else the context is an upper bound."""
    prompt: int = 0
    prompt_high: int = 0
    output: int = 0
    output_high: int = 0
    token_time: float | None = None
    first_token_time: float | None = None
    tokens_per_step: float | None = None
    """Tokens that a sequence gains per step: 1, more with speculation, None where not known."""
    shape: TrafficShape = TrafficShape.STEADY
    duty: float = 1.0
    """Share of the week with requests."""
    replicas_min: int | None = None
    replicas_max: int = 1
    months: float | None = None
    run_hours: float | None = None
    runs_per_month: float | None = None
    deadline_hours: float | None = None
    """Hours from the start of a run after which its result is too late."""
    assumptions: tuple[Assumption, ...] = ()
    total_tokens: float | None = None
    """Tokens of a whole training run; None: not declared, or no training."""
    amount_declared: bool = False
    """Whether a training run says how much it is: tokens, samples or steps."""
    samples: int | None = None
    """Sequences of one run of bounded generation whose hours are not declared."""
    trains: bool = False
    saves_progress: bool = False
    """Whether checkpoints are declared."""
    checkpoint_minutes: float | None = None
    """Longest time between two of those that outlive an instance; None: there are none."""
    reads: bool = True
    """Whether its users read words as they come."""
    images: Images | None = None
    """Images of one prompt, which a tower turns into tokens before the first one is made."""

    @property
    def tokens_high(self) -> int:
        """Tokens of a long sequence: 95th percentile of prompt plus output, at most the context."""
        if not self.tokens_declared:
            return self.context_length
        return min(self.context_length, self.prompt_high + self.output_high)

    @property
    def tokens_cached(self) -> int:
        """Tokens in the cache of one sequence in the middle of its answer."""
        return min(self.context_length, self.prompt + self.output // 2)

    @property
    def time_limit(self) -> float | None:
        """Hours in which a training run is to end; None where nothing bounds it."""
        limits = [hours for hours in (self.run_hours, self.deadline_hours) if hours]
        return min(limits) if limits and self.total_tokens else None

    @property
    def replicas(self) -> int:
        """Replicas that run while there is work."""
        return max(1, self.replicas_min or 1)

    @property
    def is_service(self) -> bool:
        """Whether it runs until further notice, not to an end."""
        return self.kind is Kind.SERVING

    @property
    def scaling(self) -> str:
        """How many hours a service is up: fixed, scheduled or scale-to-zero."""
        if not self.is_service:
            return "scale-to-zero"
        if self.shape is TrafficShape.BURSTY:
            return "fixed" if self.replicas_min else "scale-to-zero"
        if self.shape is TrafficShape.SCHEDULED or self.duty < 1:
            return (
                "fixed" if self.replicas_min and self.shape is TrafficShape.STEADY else "scheduled"
            )
        return "fixed"

    @property
    def hours_up(self) -> float:
        """Share of the month in which a service is paid for."""
        return 1.0 if self.scaling == "fixed" else self.duty


def demand_of(workload: Workload) -> Demand:
    """Read the numbers that constraints and prices need; what was not declared is said."""
    if isinstance(workload, Training):
        return _training_demand(workload)
    if isinstance(workload, DiffusionTraining):
        return _pictures_demand(workload)
    if isinstance(workload, BATCHED):
        return _of_batches(workload)
    workload = inference(workload)
    found = _of_service(workload)
    prompt, output, assumptions = _tokens(workload)
    latency = workload.latency if isinstance(workload, Serving) else None
    return Demand(
        kind=workload.kind,
        engine=workload.engine.name,
        offload_gib=workload.engine.cpu_offload_gib,
        interruptible=_interruptible(workload, bool(found.get("user_facing"))),
        concurrency=workload.concurrency,
        context_length=workload.context_length,
        tokens_declared=not assumptions,
        prompt=prompt,
        prompt_high=workload.prompt_tokens.high if workload.prompt_tokens else prompt,
        output=output,
        output_high=workload.output_tokens.high if workload.output_tokens else output,
        token_time=_seconds(latency.time_per_output_token_ms if latency else None),
        first_token_time=_seconds(latency.time_to_first_token_ms if latency else None),
        tokens_per_step=_tokens_per_step(workload.engine),
        replicas_min=workload.replicas.min,
        replicas_max=workload.replicas.max,
        assumptions=assumptions,
        images=getattr(workload, "images", None),
        samples=_samples(workload),
    )._replace(**found, **_of_run(workload))


def _samples(workload: Inference) -> int | None:
    """Sequences that decide how long a run is; None where hours do, or nothing."""
    if not isinstance(workload, BatchInference) or workload.run_hours is not None:
        return None
    return workload.samples


UNBOUNDED = 2**20
"""Copies of a training run where no global batch bounds them."""


def _training_demand(workload: Training) -> Demand:
    length = workload.sequence_length
    total: float | None = None
    if workload.tokens is not None:
        total = float(workload.tokens)
    elif workload.samples is not None:
        total = workload.samples * workload.epochs * length
    return Demand(
        kind=workload.kind,
        engine=workload.trainer.name,
        interruptible=workload.tolerance is not InterruptionTolerance.NONE,
        concurrency=_copies(workload),
        context_length=length,
        prompt=length,
        prompt_high=length,
        tokens_per_step=1.0,
        total_tokens=total,
        amount_declared=total is not None,
        trains=True,
    )._replace(**_of_run(workload))


def _pictures_demand(workload: DiffusionTraining) -> Demand:
    return Demand(
        kind=workload.kind,
        engine=workload.trainer,
        interruptible=workload.tolerance is not InterruptionTolerance.NONE,
        concurrency=_copies(workload),
        amount_declared=workload.train_steps is not None or workload.samples is not None,
        trains=True,
        reads=False,
    )._replace(**_of_run(workload))


def _copies(workload: Optimizing) -> int:
    """Copies of the model that one step can feed."""
    if workload.global_batch is None:
        return UNBOUNDED
    return max(1, workload.global_batch // workload.micro_batch)


def _of_batches(workload: Generation | Embedding | Audio) -> Demand:
    """The numbers of work that generates no tokens: batches take the place of sequences."""
    found = _of_service(workload)
    return Demand(
        kind=workload.kind,
        engine=_library(workload),
        interruptible=_interruptible(workload, bool(found.get("user_facing"))),
        concurrency=workload.concurrency,
        context_length=workload.context_length if isinstance(workload, Embedding) else 0,
        replicas_min=workload.replicas.min,
        replicas_max=workload.replicas.max,
        reads=False,
    )._replace(**found, **_of_run(workload))


def _library(workload: Generation | Embedding | Audio) -> str:
    if isinstance(workload, Audio):
        return SOUND
    return PIPELINES if isinstance(workload, Generation) else EMBEDDERS


def _of_service(workload: Workload) -> dict[str, Any]:
    """What only a service has."""
    if not isinstance(workload, Service):
        return {}
    traffic = workload.traffic
    return {
        "user_facing": workload.user_facing,
        "shape": traffic.shape,
        "duty": _duty(traffic),
        "months": workload.horizon_months,
    }


def _of_run(workload: Workload) -> dict[str, Any]:
    """What only bounded work has."""
    if not isinstance(workload, Bounded):
        return {}
    checkpoints = workload.checkpoints
    minutes = checkpoints.interval_minutes if checkpoints else None
    if checkpoints is not None and checkpoints.location.value in LOST_WITH_INSTANCE:
        minutes = None
    return {
        "run_hours": workload.run_hours,
        "runs_per_month": workload.runs_per_month,
        "deadline_hours": workload.deadline_hours,
        "saves_progress": checkpoints is not None,
        "checkpoint_minutes": minutes,
    }


def _duty(traffic: Traffic) -> float:
    """Share of the week in which requests come."""
    return traffic.hours_per_day * traffic.days_per_week / HOURS_PER_WEEK


def _interruptible(workload: Workload, user_facing: bool) -> bool:
    return not user_facing and workload.tolerance is not InterruptionTolerance.NONE


def inference(workload: Workload) -> Inference:
    """The workload as one that generates tokens: not one that makes pictures or embeds texts."""
    if not isinstance(workload, Inference):
        raise TypeError(f"{type(workload).__name__} has no demand in this version")
    return workload


def _tokens(workload: Inference) -> tuple[int, int, tuple[Assumption, ...]]:
    context = workload.context_length
    assumptions = []
    if workload.output_tokens:
        output = min(workload.output_tokens.mean, context)
    else:
        output = max(1, min(TYPICAL_OUTPUT_TOKENS, context // OUTPUT_SHARE))
        assumptions.append(_assumed("outputTokens", output))
    if workload.prompt_tokens:
        prompt = min(workload.prompt_tokens.mean, context)
    else:
        prompt = max(1, min(TYPICAL_PROMPT_TOKENS, context - output))
        assumptions.append(_assumed("promptTokens", prompt))
    return prompt, output, tuple(reversed(assumptions))


def _tokens_per_step(engine: Engine) -> float | None:
    if engine.speculative is None:
        return 1.0
    if engine.speculative_tokens is None or engine.speculative_acceptance is None:
        return None
    return sum(engine.speculative_acceptance**n for n in range(engine.speculative_tokens + 1))


def _assumed(field: str, tokens: int) -> Assumption:
    return Assumption(field, str(tokens), "not declared; an ordinary chat turn, for speed only")


def _seconds(milliseconds: float | None) -> float | None:
    return None if milliseconds is None else milliseconds * MILLISECOND
