"""What is trained in which format, by whose habits, and what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from gpusize.architecture import architecture_of
from gpusize.memory.training.setup import Resolver, Setup
from gpusize.workload import Objective, parse_workload
from tests.unit.memory.training.small import PEBBLE, declared, setup


def resolver(catalog: Any, architecture: Any = PEBBLE, **more: Any) -> Resolver:
    return Resolver(declared(**more), architecture, catalog)


def resolved(catalog: Any, architecture: Any = PEBBLE, **more: Any) -> Setup:
    found = resolver(catalog, architecture, **more)
    known = found.resolve()
    assert known is not None, found.problems
    return known


@pytest.mark.parametrize(
    ("objective", "sequences", "headless", "reference"),
    [
        ("language", 1, False, 0),
        ("preference", 2, False, 1),
        ("reward", 2, True, 0),
        ("classification", 1, True, 0),
        ("unpaired", 1, False, 1),
        ("contrast", 2, False, 0),
        ("embedding", 2, True, 0),
    ],
)
def test_what_an_objective_asks(objective, sequences, headless, reference):
    """A reference of DPO and KTO alone; pairs of answers or texts; heads of few numbers."""
    known = setup(objective=Objective(objective))
    assert (known.sequences, known.headless) == (sequences, headless)
    assert (known.reference_passes, known.frozen_models) == (reference, reference)
    for method in ("lora", "qlora", "dora"):
        beside = known._replace(method=method)
        assert (beside.reference_passes, beside.frozen_models) == (reference, 0)
        assert beside.adapted
    assert not known.adapted


@pytest.mark.parametrize(
    ("objective", "whole", "adapted"),
    [("policy", 1, 0), ("actor-critic", 2, 2), ("distillation", 1, 1)],
)
def test_models_beside_one_that_writes_answers(objective, whole, adapted):
    """A reference, a model of rewards, a teacher; with an adapter a critic's frozen weights too."""
    known = setup(objective=Objective(objective))
    assert known.frozen_models == whole
    assert known._replace(method="lora").frozen_models == adapted
    assert known.company.samples


def test_an_objective_is_as_declared_and_language_where_there_is_none(catalog):
    assert resolved(catalog, objective="reward").objective is Objective.REWARD
    assert resolved(catalog).objective is Objective.LANGUAGE
    raw = {"kind": "pre-training", "region": "us-east-1", "sequenceLength": 8}
    workload = parse_workload({**raw, "model": "meta-llama/Llama-3.1-8B"})
    known = Resolver(workload, PEBBLE, catalog).resolve()
    assert known is not None
    assert (known.objective, known.method, known.adapted) == (Objective.LANGUAGE, "full", False)


@pytest.mark.parametrize(
    ("method", "native", "form"),
    [
        ("full", "bf16", "bf16"),
        ("full", "fp16", "fp16"),
        ("full", "fp32", "fp32"),
        ("full", "fp8", "bf16"),
        ("full", None, "bf16"),
        ("lora", "fp8", "fp8"),
        ("lora", None, "bf16"),
        ("dora", "fp16", "fp16"),
        ("qlora", "bf16", "nf4"),
    ],
)
def test_the_format_that_is_usual_for_a_method(catalog, method, native, form):
    found = resolver(catalog, PEBBLE._replace(native_format=native), method=method)
    known = found.resolve()
    assert known is not None
    assert (known.form.id, known.method) == (form, method)
    said = {item.field: item for item in found.assumptions}["weightsFormat"]
    assert (said.value, said.why) == (form, "not declared: usual for the method")


def test_a_declared_format_is_taken(catalog):
    assert resolved(catalog, method="qlora", weightsFormat="int8").form.linear_bits == 8
    found = resolver(catalog, method="full", weightsFormat="fp32")
    known = found.resolve()
    assert known is not None
    assert known.form.id == "fp32"
    assert "weightsFormat" not in {item.field for item in found.assumptions}


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"weightsFormat": "awq"}, "weights of format awq cannot be trained: take bf16"),
        (
            {"method": "qlora", "weightsFormat": "bf16"},
            "qlora keeps quantized weights, bf16 is not",
        ),
        (
            {"trainer": "hf", "optimizerInBackward": True},
            "hf has no step of the optimizer in the backward pass",
        ),
    ],
)
def test_what_cannot_be_trained_is_said(catalog, more, problem):
    found = resolver(catalog, **more)
    assert found.resolve() is None
    assert found.problems == [problem]


def test_what_is_not_in_the_catalog_is_said(catalog):
    found = resolver(catalog, PEBBLE._replace(native_format="fp7"), method="lora")
    assert found.resolve() is None
    assert found.problems == ["weights format fp7 is not in the catalog"]
    trainer = declared(trainer="torchtitan").trainer.model_copy(update={"name": "sandbox"})
    workload = declared().model_copy(update={"trainer": trainer})
    unknown = Resolver(workload, PEBBLE, catalog)
    assert unknown.resolve() is None
    assert unknown.problems == ["no memory constants for sandbox None"]


def test_models_that_are_not_known_or_not_modelled_are_said(catalog):
    blank = resolver(catalog, PEBBLE._replace(known=False, unknown_reason="why"))
    assert blank.resolve() is None
    assert blank.problems == ["architecture of pebble: why"]
    paired = resolver(catalog, PEBBLE._replace(encoder_layers=6))
    assert paired.resolve() is None
    assert paired.problems == ["training of encoder-decoder models is not modelled yet"]


@pytest.mark.parametrize(
    ("version", "loss"),
    [("0.2.9", "plain"), ("0.3", "chunked"), ("0.3.1", "chunked"), (None, "chunked")],
)
def test_the_row_of_a_version_is_taken(catalog, version, loss):
    """torchtitan takes its loss in chunks since 0.3; the newest row where none is declared."""
    name = f"torchtitan@{version}" if version else "torchtitan"
    found = resolver(catalog, trainer=name)
    known = found.resolve()
    assert known is not None
    assert (known.row.loss, known.habits.loss) == (loss, loss)
    assert found.constants == ("torchtitan (any version)",)
    assert "trainer.version" not in {item.field for item in found.assumptions}


def test_the_version_that_is_taken_is_said(catalog):
    found = resolver(catalog, trainer="torchtune")
    assert found.resolve() is not None
    said = {item.field: item for item in found.assumptions}["trainer.version"]
    newest = catalog.trainers("torchtune")[-1].newest
    assert (said.value, said.why) == (newest, "not declared: the newest version known")
    assert found.constants == (f"torchtune {newest}",)
    told = resolver(catalog, trainer=f"torchtune@{newest}")
    assert told.resolve() is not None
    assert "trainer.version" not in {item.field for item in told.assumptions}


def test_habits_are_the_trainers_unless_declared(catalog):
    """unsloth recomputes, fuses its loss and offloads what it keeps (its README)."""
    found = resolver(catalog, trainer="unsloth")
    known = found.resolve()
    assert known is not None
    assert known.habits == ("full", "fused", True)
    said = {item.field: item for item in found.assumptions}
    assert (said["recompute"].value, said["loss"].value) == ("full", "fused")
    assert said["loss"].why == said["recompute"].why == "not declared: what unsloth does by itself"
    told = resolver(
        catalog, trainer="unsloth", recompute="none", loss="plain", offloadActivations=False
    )
    known = told.resolve()
    assert known is not None
    assert known.habits == ("none", "plain", False)
    assert {"recompute", "loss"}.isdisjoint(item.field for item in told.assumptions)


def test_published_models_resolve_without_a_word(catalog):
    known = resolved(catalog, architecture_of("meta-llama/Llama-3.1-8B", catalog), method="qlora")
    assert (known.form.id, known.row.trainer, known.habits.recompute) == ("nf4", "hf", "none")
