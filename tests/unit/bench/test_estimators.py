"""gpusize among other estimators: what it answers to their harness, and how they are compared."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.estimators import __main__ as command
from bench.estimators.answering import answer
from bench.estimators.running import ask
from bench.estimators.table import misjudged, narrow, nearer, table
from bench.measured.frame import Skip

MODEL = {"hf_id": "meta-llama/Llama-3.1-8B"}
COMMON = {
    "id": "c1",
    "model": MODEL,
    "raw_model": "somebody/Llama-3.1-8B-tuned",
    "quant": "bf16",
    "kv_dtype": "auto",
    "gpu_raw": "A100-80GB",
    "gpu_mem_mib": 81153,
    "tp": 1,
    "source": None,
    "mem_kind": "max_memory_allocated",
}
SERVING = {
    **COMMON,
    "kind": "serving",
    "engine": "vllm",
    "engine_version": "0.11.0",
    "context": 8192,
    "util": 0.9,
}
INFERENCE = {
    **COMMON,
    "kind": "inference",
    "engine": "HF transformers",
    "context": 2048,
    "concurrency": 4,
}
TRAINING = {
    **COMMON,
    "kind": "training",
    "engine": "torchtune",
    "method": "lora",
    "training": {
        "method": "lora",
        "compute_dtype": "bf16",
        "amp": False,
        "optimizer": "adamw",
        "lora_rank": 8,
        "lora_targets": ["q_proj", "v_proj"],
        "seq_len": 2048,
        "micro_batch": 2,
        "grad_checkpointing": True,
        "attn": "sdpa",
        "sharding": "none",
        "world_size": 1,
        "base_bits": 4,
        "loss_impl": None,
    },
}
DECODE = {**COMMON, "kind": "decode", "engine": "vllm 0.11.0", "isl": 128, "osl": 128}


def trained(case=TRAINING, method="lora", **told):
    return {**case, "method": method, "training": {**case["training"], "method": method, **told}}


def test_serving_is_answered_in_parts():
    said = answer(SERVING)
    assert said["weights_gib_per_gpu"] == pytest.approx(14.96, rel=0.01)
    assert said["kv_bytes_per_token"] == 2 * 2 * 8 * 128 * 32
    parts = ("weights_gib_per_gpu", "kv_gib_per_gpu", "overhead_gib_per_gpu")
    assert sum(said[part] for part in parts) == pytest.approx(said["total_gib_per_gpu"])
    assert said["kv_tokens"] * said["kv_bytes_per_token"] == pytest.approx(
        said["kv_pool_gib_per_gpu"] * 2**30, rel=0.01
    )
    assert said["fits"] is True


def test_a_model_that_does_not_fit_is_said():
    large = {**SERVING, "model": {"hf_id": "meta-llama/Llama-3.1-70B"}, "raw_model": "somebody/big"}
    assert answer(large)["fits"] is False


@pytest.mark.parametrize(
    ("model", "version", "ratio"),
    [
        ("openai/gpt-oss-20b", "0.15.1", 0.7),
        ("openai/gpt-oss-20b", "0.25.1", 1),
        ("meta-llama/Llama-3.1-8B", "0.15.1", 1),
    ],
)
def test_older_logs_count_windows_as_whole_layers(model, version, ratio):
    case = {**SERVING, "raw_model": model, "context": 131072, "quant": "auto"}
    newer, logged = (answer({**case, "engine_version": one}) for one in ("0.25.1", version))
    per_byte = [said["kv_tokens"] / said["kv_pool_gib_per_gpu"] for said in (newer, logged)]
    assert per_byte[1] / per_byte[0] <= ratio * 1.01
    assert ratio < 1 or per_byte[1] == pytest.approx(per_byte[0], rel=0.02)


def test_every_sequence_of_a_batch_has_a_cache():
    one, four = answer({**INFERENCE, "concurrency": 1}), answer(INFERENCE)
    assert four["kv_gib_per_gpu"] == 4 * one["kv_gib_per_gpu"]
    grown = four["total_gib_per_gpu"] - one["total_gib_per_gpu"]
    assert grown == pytest.approx(3 * one["kv_gib_per_gpu"])
    assert answer({**INFERENCE, "concurrency": 10_000})["fits"] is False


def test_files_of_llama_cpp_are_read_as_their_engine_does():
    said = answer({**INFERENCE, "engine": "llamacpp", "quant": "Q4_K_M"})
    assert said["weights_gib_per_gpu"] < 6


@pytest.mark.parametrize(
    ("case", "low", "high"),
    [
        (TRAINING, 15, 22),
        (trained(method="qlora"), 5, 12),
        (trained(base_bits=8), 8, 15),
        (trained(method="full", sharding="fsdp", world_size=8), 8, 40),
    ],
)
def test_training_is_answered_with_what_is_counted(case, low, high):
    said = answer(case)
    assert low < said["total_gib_per_gpu"] < high
    assert said["allocated_gib"] == said["total_gib_per_gpu"]


def test_decoding_is_below_what_hardware_allows():
    said = answer(DECODE)
    assert 50 < said["tok_s"] < said["bound_tok_s"] < 200


def test_eight_bits_are_what_transformers_runs():
    narrow_case = {**DECODE, "engine": "HF transformers", "quant": "w8a8"}
    assert answer(narrow_case)["bound_tok_s"] > answer({**DECODE, "engine": "hf"})["bound_tok_s"]


def test_what_is_not_known_is_said():
    with pytest.raises(Skip, match="no facts"):
        answer({**SERVING, "raw_model": "nobody/knows", "model": {"hf_id": "nobody/at-all"}})


def line(name, peer, error, fits=True, **more):
    return {
        "id": name,
        "peer": peer,
        "kind": "serving",
        "status": "ok",
        "prediction": {"weights_gib_per_gpu": 10 * (1 + error), "fits": fits},
        "truth": {"weights_gib": 10, "fits": True},
        "meta": {},
        **more,
    }


def test_rows_on_which_another_is_nearer():
    lines = [
        line("a", "gpusize", 0.3),
        line("a", "near", -0.1),
        line("a", "far", 0.5),
        line("b", "gpusize", 0.05),
        line("b", "near", 0.0),
        line("c", "near", 0.0),
        line("d", "gpusize", 0.9),
        line("d", "near", 0.0, status="unsupported"),
    ]
    (found,) = nearer(lines)
    assert (found.id, found.measure, found.peer) == ("a", "weights", "near")
    assert found.ours == pytest.approx(0.3)


def test_an_estimator_that_is_exact_is_nearer():
    (found,) = nearer([line("a", "gpusize", 0.3), line("a", "near", 0.0)])
    assert found.theirs == 0


@pytest.mark.parametrize("meta", [{"gpu_assumed": True}, {"util_stated": False}])
def test_tokens_count_where_gpu_and_share_are_stated(meta):
    parts = {"truth": {"kv_tokens": 10}, "meta": meta}
    said = [
        line("a", peer, 0, prediction={"kv_tokens": tokens}, **parts)
        for peer, tokens in (("gpusize", 20), ("near", 10))
    ]
    assert not nearer(said)
    assert nearer([{**one, "meta": {}} for one in said])


def test_wrong_verdicts_name_who_is_right():
    lines = [line("a", "gpusize", 0, fits=False), line("a", "near", 0), line("b", "gpusize", 0)]
    assert misjudged(lines) == ["a ran; right: near"]


def test_tight_verdicts_are_counted_apart():
    calls = [("fits", False), ("tight", False), ("tight", True), ("tight", True)]
    lines = [
        line("a", "gpusize", 0, prediction={"verdict": verdict}, truth={"fits": ran})
        for verdict, ran in calls
    ]
    assert narrow([*lines, line("a", "near", 0), line("b", "gpusize", 0, prediction=None)]) == (
        1,
        2,
    )


def test_the_table_puts_gpusize_first():
    figure = {"n": 3, "median": 0.012, "p90": 0.2}
    empty = {"n": 0, "median": None, "p90": None}
    verdict = {"fits_ok": 1, "oom_ok": 2, "false_fits": 3, "false_oom": 4}
    scores = [
        {"peer": peer, "answered": 3, "cases": 4, "peak": found, "verdict": verdict}
        for peer, found in (("near", figure), ("gpusize", figure), ("mute", empty))
    ]
    rows = table("training", scores).splitlines()[2:]
    assert rows[0] == "| gpusize | 3 of 4 | 1.2% / 20.0% (3) | 1 / 2 / 3 / 4 |"
    assert rows[2].startswith("| mute | 3 of 4 | none |")


def test_without_a_harness_it_says_so(tmp_path, capsys):
    assert command.main(["--harness", str(tmp_path / "no"), "--cases", str(tmp_path)]) == 0
    assert "skipped" in capsys.readouterr().out


WORKER = """
import importlib, json, sys
def main(name, source, target):
    adapter = importlib.import_module("adapters." + name)
    case = json.loads(open(source).read())
    from adapters.base import Unsupported
    try:
        said = {"peer": name, "prediction": adapter.predict(case, None)}
    except Unsupported as reason:
        said = {"peer": name, "reason": str(reason)}
    open(target, "w").write(json.dumps(said) + "\\n")
"""
RUNNER = """
import os, subprocess, sys
from pathlib import Path
HERE = Path(__file__).resolve().parent
PEERS = {"other": "other"}
def main():
    cases, out = sys.argv[1:3]
    for name in PEERS:
        python = Path("/nowhere", PEERS[name], "bin", "python")
        if not python.exists():
            open(out, "w").close()
            continue
        command = [str(python), str(HERE / "worker.py"), name, cases, out]
        subprocess.run(command, check=True)
    return 0
if __name__ == "__main__":
    sys.exit(main())
"""


@pytest.fixture
def harness(tmp_path):
    folder = tmp_path / "harness"
    (folder / "adapters").mkdir(parents=True)
    (folder / "worker.py").write_text(WORKER)
    (folder / "run_peers.py").write_text(RUNNER)
    (folder / "adapters" / "__init__.py").write_text("")
    (folder / "adapters" / "base.py").write_text("class Unsupported(Exception): pass\n")
    return folder


@pytest.mark.parametrize(
    ("case", "key"), [(DECODE, "prediction"), ({**DECODE, "gpu_raw": "abacus"}, "reason")]
)
def test_it_joins_a_harness_without_changing_it(harness, tmp_path, case, key):
    before = sorted(path.name for path in harness.rglob("*"))
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(case))
    (said,) = ask(harness, path, tmp_path, ["other"]).read_text().splitlines()
    assert key in json.loads(said)
    assert json.loads(said)["peer"] == "gpusize"
    assert sorted(path.name for path in harness.rglob("*")) == before


def test_the_worker_tells_where_the_harness_is_missing():
    worker = Path(command.__file__).with_name("worker.py")
    done = subprocess.run([sys.executable, str(worker)], capture_output=True, text=True, env={})
    assert done.returncode
    assert "GPUSIZE_HARNESS" in done.stderr
