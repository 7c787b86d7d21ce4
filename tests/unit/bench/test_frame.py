"""Rows of folders that nobody has seen before are read, scored or left out with a reason."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench.measured import SUBJECTS, pictures, serving, throughput, training
from bench.measured.frame import Row, declared, hold
from bench.measured.gpus import GPUS, gpu_id
from bench.measured.report import report
from bench.measured.summary import data, empty
from gpusize_catalog.store import load

LLAMA = "meta-llama/Llama-3.1-8B"
NO_ADAPTER = {"lora_rank": None, "lora_targets": None}

ROWS = {
    "serving.jsonl": {
        "id": "s1",
        "engine": "vllm",
        "engine_version": "0.11.0",
        "model": LLAMA,
        "weights_dtype_quantization": "bf16",
        "kv_dtype": "auto",
        "max_model_len": 8192,
        "gpu": "A100-80GB",
        "n_gpus": 1,
        "tensor_parallel": 1,
        "gpu_memory_utilization": 0.9,
        "measured": {
            "weights_gib_per_gpu": 14.99,
            "kv_tokens": 430000,
            "max_concurrency": 52.49,
            "fits": True,
        },
        "sanity": {},
        "notes": None,
    },
    "training.jsonl": {
        "id": "t1",
        "source": "somebody/somewhere",
        "framework": "torchtune",
        "model": LLAMA,
        "method": "lora",
        "weights_dtype": "bf16",
        "optimizer": "adamw",
        "lora_rank": 8,
        "lora_targets": "q,v",
        "seq_len": 2048,
        "micro_batch": 2,
        "gradient_checkpointing": True,
        "sharding": "none",
        "gpu": "A100-80GB",
        "n_gpus": 1,
        "measured": {"peak_gib_per_gpu": 18.0, "oom": False, "fits": True},
        "mem_kind": "max_memory_allocated",
        "evidence": "measured",
    },
    "other.jsonl": {
        "id": "o1",
        "task": "text-to-image",
        "model": "black-forest-labs/FLUX.1-dev",
        "dtype": "bf16",
        "resolution": "1024x1024",
        "batch": 1,
        "offload": "none",
        "quantization": None,
        "gpu": "H100-80GB",
        "n_gpus": 1,
        "measured": {"peak_gib": 33.0, "fits": True},
        "mem_kind": "max_memory_allocated",
        "evidence": "measured",
    },
    "throughput.jsonl": {
        "id": "r1",
        "task": "inference-batch1",
        "model": LLAMA,
        "gpu": "H100-80GB",
        "n_gpus": 1,
        "engine": "vllm 0.11.0",
        "dtype": "bf16",
        "batch": 1,
        "isl": 128,
        "osl": 128,
        "measured": {"value": 140.0, "unit": "decode tok/s"},
    },
}
MEASURES = {
    "serving.jsonl": ("serving.weights", "serving.kv"),
    "training.jsonl": ("training.dense",),
    "other.jsonl": ("diffusion", "diffusion.image"),
    "throughput.jsonl": ("throughput", "throughput.one"),
}


@pytest.fixture(scope="module")
def held(tmp_path_factory):
    """Holds lines of one file to their predictions."""
    catalog = load()
    folder = tmp_path_factory.mktemp("cases")

    def run(subject, *rows):
        lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / subject.file).write_text("\n".join(lines), encoding="utf-8")
        summary = empty()
        hold(subject, folder, catalog, summary)
        return summary

    return run


def changed(row, **more):
    return {**row, **more}


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda one: one.file)
def test_a_plain_row_is_covered(held, subject):
    summary = held(subject, ROWS[subject.file])
    for name in MEASURES[subject.file]:
        (miss,) = summary.groups[name].misses
        assert abs(miss.error) < 0.3
        assert not summary.groups[name].uncovered
    assert not summary.left_out[subject.file]


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda one: one.file)
def test_predictions_do_not_know_what_was_measured(held, subject):
    row = ROWS[subject.file]
    more = {
        name: value * 3 if isinstance(value, float | int) and value is not True else value
        for name, value in row["measured"].items()
    }
    summary = held(subject, row, changed(row, measured=more))
    for name in MEASURES[subject.file]:
        first, second = summary.groups[name].misses
        assert first.predicted == second.predicted
        assert first.measured != second.measured


def test_only_the_unit_stays_of_what_was_measured():
    row = Row(ROWS["throughput.jsonl"], measured=Row(value=3.0, unit="decode tok/s"))
    assert declared(row)["measured"] == {"unit": "decode tok/s"}


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"sanity": {"arch_facts": "assumed_or_backsolved_do_not_score"}}, "assumed"),
        ({"notes": "an outlier, half the card was taken"}, "outlier"),
        ({"model": "nobody/knows"}, "no facts for nobody/knows"),
        ({"pipeline_parallel": 2}, "pipeline stages"),
        ({"speculative": True}, "draft"),
        ({"kv_dtype": "turboquant"}, "cache format"),
        ({"weights_dtype_quantization": "unknown"}, "weights format"),
        ({"measured": {}}, "nothing measured"),
        ({"measured": {"weights_gib_per_gpu": "a lot"}}, "nothing measured"),
        ({"pipeline_parallel": "two"}, "malformed"),
    ],
)
def test_rows_that_cannot_be_scored_are_left_out(held, more, reason):
    summary = held(serving.SUBJECT, changed(ROWS["serving.jsonl"], **more))
    (told,) = summary.left_out["serving.jsonl"]
    assert told.id == "s1"
    assert reason in told.reason
    assert data(summary)["groups"]["serving.weights"]["n"] == 0


@pytest.mark.parametrize("line", ["{", "[]", "3", "null", '{"id": '])
def test_lines_that_are_no_rows_are_named(held, line):
    summary = held(serving.SUBJECT, ROWS["serving.jsonl"], line)
    assert summary.left_out["serving.jsonl"][0].id == "line 2"
    assert "(line 2)" in report(summary, 0)
    assert data(summary)["groups"]["serving.weights"]["covered"] == 1


@pytest.mark.parametrize(
    ("subject", "more", "group", "reason"),
    [
        (serving.SUBJECT, {"kv_dtype": "int3"}, "serving.weights", "int3"),
        (training.SUBJECT, {"method": "galore", **NO_ADAPTER}, "training.dense", "method galore"),
        (pictures.SUBJECT, {"quantization": "int1"}, "diffusion", "weights format int1"),
        (pictures.SUBJECT, {"n_gpus": 2}, "diffusion", "several GPUs"),
        (throughput.SUBJECT, {"gpu": "abacus"}, "throughput", "GPU abacus"),
    ],
)
def test_rows_that_are_not_predicted_are_not_covered(held, subject, more, group, reason):
    summary = held(subject, changed(ROWS[subject.file], **more))
    found = data(summary)["groups"][group]
    assert (found["n"], found["covered"]) == (1, 0)
    assert found["median"] is None
    (told,) = summary.groups[group].uncovered
    assert reason in told.reason
    if subject.fit in data(summary)["fit"]:
        assert data(summary)["fit"][subject.fit]["unknown"] == 1


@pytest.mark.parametrize(
    ("subject", "missing", "reason"),
    [
        (training.SUBJECT, "seq_len", "sequence length is not stated"),
        (training.SUBJECT, "weights_dtype", "precision is not stated"),
        (pictures.SUBJECT, "resolution", "resolution"),
        (pictures.SUBJECT, "batch", "batch is not stated"),
        (throughput.SUBJECT, "isl", "isl is not stated"),
    ],
)
def test_rows_that_do_not_say_enough_are_left_out(held, subject, missing, reason):
    row = {name: value for name, value in ROWS[subject.file].items() if name != missing}
    (told,) = held(subject, row).left_out[subject.file]
    assert reason in told.reason


@pytest.mark.parametrize(
    ("more", "counts"),
    [
        ({}, {"serving.weights", "serving.kv"}),
        ({"gpu": None}, {"serving.weights"}),
        ({"gpu": "somebody's-48GB"}, {"serving.weights", "serving.kv"}),
        ({"gpu_memory_utilization": None}, {"serving.weights"}),
    ],
)
def test_tokens_count_where_gpu_and_share_are_stated(held, more, counts):
    summary = held(serving.SUBJECT, changed(ROWS["serving.jsonl"], **more))
    assert {name for name, group in summary.groups.items() if group.misses} == counts
    judged = bool(summary.verdicts["serving"])
    assert judged is ("gpu" not in more or more["gpu"] is not None)


def test_concurrency_decides_where_tokens_are_counted_otherwise(held):
    row = ROWS["serving.jsonl"]
    for tokens, expected in ((430000, 430000), (99000, 52.49 * 8192)):
        measured = changed(row["measured"], kv_tokens=tokens)
        summary = held(serving.SUBJECT, changed(row, measured=measured))
        assert summary.groups["serving.kv"].misses[0].measured == expected


def test_a_build_that_runs_on_no_such_gpu_is_not_predicted(held):
    row = changed(ROWS["serving.jsonl"], engine_version="0.11.0+sm120a")
    summary = held(serving.SUBJECT, row)
    assert len(summary.groups["serving.weights"].misses) == 1
    assert not summary.groups["serving.kv"].misses
    (told,) = summary.groups["serving.kv"].uncovered
    assert told.reason == serving.CONTRADICTED
    assert [judged.verdict for judged in summary.verdicts["serving"]] == ["unknown"]


@pytest.mark.parametrize("total", ["48 GiB", [], True, -1])
def test_a_total_that_is_no_number_is_not_known(held, total):
    plain, odd = (
        held(serving.SUBJECT, row).groups["serving.kv"].misses[0].predicted
        for row in (ROWS["serving.jsonl"], changed(ROWS["serving.jsonl"], gpu_total_gib=total))
    )
    assert plain == odd


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("NVIDIA GB200-186GB", "GB200"),
        ("4x A800-SXM4-80GB", "A100-80GB"),
        ("H20-96GB", "H20"),
        ("H100-96GB", "GH200"),
        ("L40S-48GB", "L40S"),
        ("GB10-128GB-unified", None),
        (None, None),
    ],
)
def test_names_of_gpus(name, found):
    assert gpu_id(name) == found


def test_every_gpu_that_is_named_is_in_the_catalog():
    catalog = load()
    assert all(catalog.gpu(one).usable_bytes for _, one in GPUS)


def test_rows_that_name_their_draft_stand_apart(held):
    row = changed(ROWS["serving.jsonl"], speculative="meta-llama/Llama-3.2-1B")
    summary = held(serving.SUBJECT, row)
    assert len(summary.groups["serving.drafted.weights"].misses) == 1
    assert not summary.groups["serving.weights"].misses
    assert not summary.verdicts["serving"]


def test_lengths_that_are_limits_stand_apart(held):
    summary = held(training.SUBJECT, changed(ROWS["training.jsonl"], packed=False))
    assert len(summary.groups["training.capped"].misses) == 1
    assert not summary.verdicts["training"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda one: one.file)
@settings(deadline=None, max_examples=30)
@given(draws=st.data())
def test_no_row_stops_a_run(held, subject, draws):
    row = ROWS[subject.file]
    odd = draws.draw(st.dictionaries(st.sampled_from(sorted(row)), JSON, min_size=1, max_size=3))
    measured = draws.draw(
        st.dictionaries(st.sampled_from(sorted(row["measured"])), JSON, max_size=2)
    )
    changed_row = {**row, "measured": {**row["measured"], **measured}, **odd}
    summary = held(subject, changed_row, row)
    for name, group in summary.groups.items():
        assert all(math.isfinite(miss.error) for miss in group.misses), name
    figures = data(summary)["groups"][MEASURES[subject.file][0]]
    assert 1 <= figures["covered"] <= figures["n"] <= 2
    assert report(summary, 1)
