"""What an objective adds to a run: sequences of a sample, and models beside the one trained."""

from __future__ import annotations

from typing import NamedTuple

from gpusize.workload import Objective


class Company(NamedTuple):
    """What trains beside the model, and what only says something to it."""

    sequences: int = 1
    """Sequences of one sample: a chosen and a rejected answer, or two texts."""
    is_headless: bool = False
    """Whether a head of a few numbers, or none, is in the place of the vocabulary's."""
    references: int = 0
    """Frozen copies of what the model was; with an adapter the frozen weights are the copy."""
    judges: int = 0
    """Frozen models beside it in any case, each as large as the model: a teacher, or rewards."""
    critics: int = 0
    """Models that are trained along with it, each as large as the model."""
    logits: int = 1
    """Distributions over the vocabulary that the loss holds at once."""
    samples: bool = False
    """Whether the model writes the answers that it learns from."""


LANGUAGE = Company()
COMPANIES = {
    Objective.PREFERENCE: Company(sequences=2, references=1),
    Objective.UNPAIRED: Company(references=1),
    Objective.CONTRAST: Company(sequences=2),
    Objective.REWARD: Company(sequences=2, is_headless=True),
    Objective.CLASSIFICATION: Company(is_headless=True),
    Objective.EMBEDDING: Company(sequences=2, is_headless=True),
    Objective.POLICY: Company(references=1, samples=True),
    Objective.ACTOR_CRITIC: Company(references=1, judges=1, critics=1, samples=True),
    Objective.DISTILLATION: Company(judges=1, logits=2, samples=True),
}
"""Source: trainers of huggingface/trl. DPOTrainer, KTOTrainer and GRPOTrainer have a reference
model (the last where its beta is not 0), CPOTrainer (SimPO) and ORPOTrainer have none; PPOTrainer
has a value model, a reward model and a reference, GKDTrainer a teacher whose logits stand beside
the student's. Teachers, critics and reward models are taken as large as the model."""


def company_of(objective: Objective) -> Company:
    """What an objective adds."""
    return COMPANIES.get(objective, LANGUAGE)
