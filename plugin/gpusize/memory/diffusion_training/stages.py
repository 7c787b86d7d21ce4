"""The stages of a training run, and what lies on one GPU in each: the peak is the largest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.memory.diffusion_training import activations
from gpusize.memory.result import Term

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpusize.memory.diffusion.job import Job
    from gpusize.memory.diffusion_training.states import Held
    from gpusize.memory.diffusion_training.trained import Trained
    from gpusize_catalog.facts import DiffusionComponent

STATES = (Term.WEIGHTS, Term.GRADIENTS, Term.OPTIMIZER_STATES)


class Stage(NamedTuple):
    """One stage at its fullest."""

    name: str
    terms: tuple[tuple[Term, float], ...]

    @property
    def size(self) -> float:
        """All terms together."""
        return sum(size for _, size in self.terms)

    @property
    def states(self) -> float:
        """Of it what is kept from step to step."""
        return sum(size for term, size in self.terms if term in STATES)


class Plan(NamedTuple):
    """What decides when components lie on the GPU."""

    cached_text: bool
    cached_latents: bool
    accumulates: bool
    """Whether gradients stay from one micro batch to the next."""
    recomputes: bool
    trains_mlp: bool


def stages(
    trained: Trained, decoder: DiffusionComponent, job: Job, held: Held, plan: Plan
) -> Iterator[Stage]:
    """Every stage: caching one by one before, then encoding and training a micro batch."""
    resident = 0.0 if plan.cached_text else float(sum(trained.encoders))
    resident += 0.0 if plan.cached_latents else float(trained.decoder)
    if plan.cached_text:
        largest = float(max(trained.encoders, default=0))
        yield Stage("encode text", ((Term.WEIGHTS, largest),))
    if plan.cached_latents:
        encoding = activations.encode_bytes(decoder, job._replace(batch=1))
        alone = ((Term.WEIGHTS, float(trained.decoder)), (Term.ACTIVATIONS, encoding))
        yield Stage("encode pictures", alone)
    kept = (
        (Term.WEIGHTS, held.weights + resident),
        (Term.GRADIENTS, held.gradients),
        (Term.OPTIMIZER_STATES, held.states),
    )
    if not plan.cached_latents:
        # Gradients of an earlier micro batch are there already where they are accumulated.
        encoding = activations.encode_bytes(decoder, job)
        there = kept if plan.accumulates else (kept[0], kept[2])
        yield Stage("encode pictures", (*there, (Term.ACTIVATIONS, encoding)))
    step = activations.step_of(
        trained.denoiser,
        decoder,
        job,
        recomputes=plan.recomputes,
        trains_mlp=plan.trains_mlp,
    )
    yield Stage("train", (*kept, (Term.GATHERED, held.gathered), _moment(step, held, plan)))


def _moment(step: activations.Step, held: Held, plan: Plan) -> tuple[Term, float]:
    """What the fullest moment of a step takes beside all gradients.

    Without accumulation gradients come as activations and cast copies of weights go: the backward
    pass begins with these and ends with those.
    """
    begin = held.cast + step.kept + step.first
    batch = begin
    if not plan.accumulates:
        batch = max(begin - held.gradients, step.last)
    if held.step_copy > batch:
        return Term.OPTIMIZER_STEP, held.step_copy
    return Term.ACTIVATIONS, batch


def peak(found: Iterator[Stage]) -> Stage:
    """The stage that needs most; the later one where two are alike."""
    return max(reversed(list(found)), key=lambda stage: stage.size)
