"""How rows of training runs, of whatever trainer, become declarations."""

from __future__ import annotations

from typing import Any

import pytest

from bench.measured.diffusion_cases import diffusion_workload, size_of
from bench.measured.frame import Row, Skip
from bench.measured.origins import label_of, origins, parted
from bench.measured.summary import Group, Miss, empty
from bench.measured.training_cases import read
from gpusize.workload import FineTuning, PreTraining
from gpusize_catalog.store import load

CATALOG = load()
ROW = {
    "source": "somebody/somewhere@abc:runs/table.md",
    "framework": "PEFT",
    "model": "meta-llama/Llama-3.1-8B",
    "params_b": 8.03,
    "method": "lora",
    "weights_dtype": "bf16",
    "optimizer": "adamw",
    "lora_targets": "q,v",
    "seq_len": 2048,
    "micro_batch": 2,
    "sharding": "none",
    "n_gpus": 1,
}


def made(**more: Any) -> Any:
    return read(Row({**ROW, "measured": Row(), "sanity": Row(), **more}), CATALOG).workload


@pytest.mark.parametrize(
    ("framework", "sharding", "trainer"),
    [
        ("litgpt", "none", "litgpt"),
        ("Lightning Fabric", "fsdp=2", "litgpt"),
        ("TRL SFTTrainer", "none", "trl"),
        ("LLaMA-Factory", "zero3=8", "hf"),
        ("somebody's own loop", "none", "hf"),
        ("somebody's own loop", "tp=2", "megatron"),
        ("NeMo", "tp=2", "megatron"),
        ("ms-swift", "tp=2", "megatron"),
        ("ms-swift (megatron)", "zero2", "ms-swift"),
        ("Megatron-DeepSpeed", "zero1=8", "hf"),
    ],
)
def test_every_framework_has_a_trainer(framework: str, sharding: str, trainer: str) -> None:
    assert made(framework=framework, sharding=sharding, n_gpus=8).trainer.name == trainer


@pytest.mark.parametrize(
    ("method", "expected", "form"),
    [
        ("lora", "lora", "low-rank"),
        ("adalora", "lora", "low-rank"),
        ("dora", "dora", "low-rank"),
        ("qlora", "qlora", "low-rank"),
        ("adapter", "lora", "prefix"),
        ("adapter+4bit", "qlora", "prefix"),
        ("adapter_v2", "lora", "scales"),
        ("adapter_v2+4bit", "qlora", "scales"),
        ("ia3", "lora", "scales"),
        ("prompt_tuning", "lora", "prefix"),
        ("psoft", "lora", "low-rank"),
    ],
)
def test_every_adapter_has_a_form(method: str, expected: str, form: str) -> None:
    dtype = "nf4" if expected == "qlora" else "bf16"
    found = made(method=method, weights_dtype=dtype, trainable_params=9_000_000)
    assert isinstance(found, FineTuning)
    assert (found.method.value, found.adapter.form.value) == (expected, form)


def test_what_trains_a_large_part_is_no_adapter() -> None:
    with pytest.raises(Skip, match="method osf"):
        made(method="osf", trainable_params=800_000_000)


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        ("q,v", "query-value"),
        ("['q_proj', 'k_proj', 'v_proj', 'o_proj']", "attention"),
        ("['q_proj', 'up_proj', 'shared_expert.down_proj']", "dense-linear"),
        ("['q_proj', 'up_proj', 'experts.down_proj']", "all-linear"),
        ("incl. experts", "all-linear"),
        ("v_proj", "query-value"),
        ("linear_qkv", "attention"),
        ("all attn+mlp", "all-linear"),
        ("all-linear", "all-linear"),
        ("all + embeddings+lm_head trainable", "all-linear"),
    ],
)
def test_targets_of_adapters(targets: str, expected: str) -> None:
    assert made(lora_targets=targets).adapter.targets.value == expected


@pytest.mark.parametrize(
    ("path", "packed", "length"),
    [
        ("a/b@c:rlhf/dpo/full.sh", True, 1024),
        ("a/b@c:rlhf/dpo/full.sh", False, 2048),
        ("a/b@c:rlhf/kto/full.sh", True, 2048),
        ("a/b@c:sft.sh", True, 2048),
    ],
)
def test_packed_pairs_share_the_length(path: str, packed: bool, length: int) -> None:
    assert made(source=path, packed=packed).sequence_length == length


@pytest.mark.parametrize(
    ("path", "objective"),
    [
        ("x/y:rlhf/grpo/lora.sh", "policy"),
        ("x/y:rlhf/ppo/lora.sh", "actor-critic"),
        ("x/y:rlhf/gkd/lora.sh", "distillation"),
        ("x/y:multimodal/sft.sh", "language"),
    ],
)
def test_objectives_of_sources(path: str, objective: str) -> None:
    assert made(source=path).objective.value == objective


@pytest.mark.parametrize(
    ("dtype", "notes", "precision"),
    [
        ("bf16", "fp8+compile", "fp8"),
        ("bf16", "nvfp4 compile", "nvfp4"),
        ("bf16", "mxfp8 compile", "auto"),
        ("bf16", None, "auto"),
        ("mxfp8", None, "fp8"),
    ],
)
def test_products_of_pre_training(dtype: str, notes: str | None, precision: str) -> None:
    found = made(method="pretrain", framework="torchtitan", weights_dtype=dtype, notes=notes)
    assert isinstance(found, PreTraining)
    assert found.compute_precision == precision


def test_a_folder_of_checkpoints_names_its_model() -> None:
    found = made(model="output/Qwen2.5-7B-Instruct/v0/checkpoint-100")
    assert found.model == "Qwen/Qwen2.5-7B"


DRAWN = {
    "modality": "image-diffusion",
    "framework": "musubi-tuner",
    "model": "Qwen/Qwen-Image",
    "method": "lora",
    "weights_dtype": "bf16",
    "resolution": "1024x1024",
    "micro_batch": 1,
    "gradient_checkpointing": True,
}


@pytest.mark.parametrize(
    ("stated", "sides"),
    [
        ("512", ("512", "512")),
        (256, ("256", "256")),
        ("768x512", ("768", "512")),
        ("49x480x720", ("480", "720")),
        ("large", None),
    ],
)
def test_sizes_of_pictures(stated: Any, sides: tuple[str, str] | None) -> None:
    found = size_of(Row(resolution=stated))
    assert (found and found.group(2, 3)) == sides


def test_what_a_trainer_of_pipelines_does_by_itself() -> None:
    row = Row({**DRAWN, "sharding": "swap16 blocks to CPU"})
    assert diffusion_workload(row, CATALOG)[0].swapped_blocks == 16
    more = {"framework": "SAT", "model": "THUDM/CogVideoX-2b", "gradient_checkpointing": None}
    filmed = {"modality": "video-diffusion", "resolution": "49x480x720", "sharding": "zero2=8"}
    found = diffusion_workload(Row({**DRAWN, **more, **filmed}), CATALOG)[0]
    assert found.recompute.value == "full"
    assert found.sharding.mode is not None
    assert found.sharding.mode.value == "zero-2"


@pytest.mark.parametrize(
    ("stated", "label"),
    [
        ("a/b@123:runs/x.md", "a/b"),
        ("a/b:runs/x.md", "a/b"),
        ("a/b#26", "a/b"),
        ("a page", "a page"),
        (None, "not stated"),
    ],
)
def test_sources_without_commit_and_file(stated: str | None, label: str) -> None:
    assert label_of({"source": stated}, "source") == label


def test_errors_by_where_rows_come_from() -> None:
    """Two rows of one source are 10 and 30 % off, the one of another 50 %."""
    summary = empty()
    summary.group("training.dense").misses.extend(
        [
            Miss("a", 1.1, 1.0, about={"source": "x/y@1:a"}),
            Miss("b", 1.3, 1.0, about={"source": "x/y@1:b"}),
            Miss("c", 0.5, 1.0, about={"source": "z"}),
        ]
    )
    parts = parted(Group(summary.groups["training.dense"].misses, []), "source")
    assert {label: len(part.misses) for label, part in parts.items()} == {"x/y": 2, "z": 1}
    told = origins(summary, "source").splitlines()
    assert told[0] == "training.dense"
    assert told[1].startswith("    x/y: n 2, median 20.0 %")
    assert told[1].endswith("all others 50.0 %")
    assert told[2].startswith("    z: n 1, median 50.0 %")
