"""Options of training runs: torchrun, accelerate, deepspeed, and of the scripts that they start.

A script's own options are read by the names of transformers' Trainer and of TRL; a script without
a model among them is not read at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from gpusize_policies.launched.flags import Assumed, Flag, Said, Table, Term
from gpusize_policies.launched.formats import COMPUTE
from gpusize_policies.launched.values import SILENT, amount, is_true, model, one_of, unless, whole

OPTIMIZERS = {
    "adamw_torch": "adamw",
    "adamw_torch_fused": "adamw",
    "adamw_hf": "adamw",
    "adamw_apex_fused": "adamw",
    "adamw_8bit": "adamw-8bit",
    "adamw_bnb_8bit": "adamw-8bit",
    "paged_adamw_8bit": "paged-adamw-8bit",
    "adafactor": "adafactor",
    "sgd": "sgd",
}
"""OptimizerNames of transformers (training_args.py)."""
ATTENTION = {
    "eager": "eager",
    "sdpa": "flash",
    "flash_attention_2": "flash",
    "flash_attention_3": "flash",
}
OBJECTIVES = {
    "sft": "language",
    "dpo": "preference",
    "kto": "unpaired",
    "orpo": "contrast",
    "reward": "reward",
    "reward_modeling": "reward",
}
"""TRL's scripts and commands by what a run learns from."""
_SCRIPT = re.compile(r"(?:run_|train_)?([a-z_]+?)(?:\.py)?")

SCRIPT = "its script"
"""What to call the source of what the name of a script says."""
OF_SCRIPTS = ("method", "sequenceLength", "microBatch")
"""Fields that decide what is held, and that a script may set itself."""
YES = is_true

FLAGS = (
    Flag("model", ("--model-name-or-path", "--model-name", "--base-model"), model),
    Flag("microBatch", ("--per-device-train-batch-size",), whole),
    Flag("_accumulation", ("--gradient-accumulation-steps",), whole),
    Flag(
        "sequenceLength",
        ("--max-seq-length", "--max-length", "--max-seq-len", "--model-max-length", "--cutoff-len"),
        whole,
    ),
    Flag("epochs", ("--num-train-epochs",), amount),
    Flag("optimizer", ("--optim",), one_of(OPTIMIZERS)),
    Flag("_recompute", ("--gradient-checkpointing",), YES, switch=True),
    Flag("_bf16", ("--bf16",), YES, switch=True),
    Flag("_fp16", ("--fp16",), YES, switch=True),
    Flag("computePrecision", ("--mixed-precision",), unless(("no",), one_of(COMPUTE))),
    Flag("weightsFormat", ("--torch-dtype", "--dtype"), one_of(COMPUTE)),
    Flag("attention", ("--attn-implementation",), one_of(ATTENTION)),
    Flag("_liger", ("--use-liger-kernel", "--use-liger"), YES, switch=True),
    Flag("_peft", ("--use-peft",), YES, switch=True),
    Flag("adapter.rank", ("--lora-r", "--lora-rank"), whole),
    Flag("_dora", ("--use-dora",), YES, switch=True),
    Flag("_four", ("--load-in-4bit",), YES, switch=True),
    Flag("_eight", ("--load-in-8bit",), YES, switch=True),
    Flag("_processes", ("--nproc-per-node", "--num-gpus"), unless(("auto", "gpu"), whole)),
    Flag("_all", ("--num-processes",), whole),
    Flag("_nodes", ("--nnodes", "--num-nodes", "--num-machines"), unless(("1:1",), whole)),
    Flag("_stage", ("--zero-stage",), one_of({str(stage): stage for stage in range(4)})),
    Flag("_fsdp", ("--use-fsdp",), YES, switch=True),
    Flag("_shards", ("--fsdp",), one_of({"": SILENT, "full_shard": True,
                                         "full_shard auto_wrap": True})),
)  # fmt: skip

SEQUENCE = 1024
"""Tokens of a sequence where none are said (TRL, SFTConfig.max_length)."""
BATCH = 8
"""Sequences of a GPU where none are said (transformers, per_device_train_batch_size)."""


def finish(found: Said) -> None:
    """Put together the method, the precision, the ranks and how they share."""
    _method(found)
    if found.value("_recompute"):
        _say(found, "recompute", "full", "_recompute")
    for field, word in (("_bf16", "bf16"), ("_fp16", "fp16")):
        if found.value(field):
            _say(found, "computePrecision", word, field)
    if found.value("_liger"):
        _say(found, "loss", "fused", "_liger")
    _ranks(found)
    _sharing(found)
    for field in [field for field in found.terms if field.startswith("_")]:
        found.drop(field)


def _say(found: Said, field: str, value: object, by: str) -> None:
    found.terms[field] = Term(field, value, found.terms[by].source)


def _method(found: Said) -> None:
    adapters = found.value("_peft") or found.value("_dora") or found.value("_four")
    if not adapters and "adapter.rank" in found.terms and "_peft" not in found.terms:
        adapters = True
    if not adapters:
        found.drop("adapter.rank")
        return
    order = (("_four", "qlora"), ("_dora", "dora"), ("_peft", "lora"), ("adapter.rank", "lora"))
    for field, method in order:
        if found.value(field):
            _say(found, "method", method, field)
            break
    for field, word in (("_four", "nf4"), ("_eight", "int8-bitsandbytes")):
        if found.value(field):
            _say(found, "weightsFormat", word, field)
            break


def _ranks(found: Said) -> None:
    """Count GPUs: per node times nodes, or all of them (accelerate)."""
    nodes = found.value("_nodes")
    count = nodes if isinstance(nodes, int) else 1
    if isinstance(nodes, int) and nodes > 1:
        _say(found, "nodesPerReplica", nodes, "_nodes")
    every, each = found.value("_all"), found.value("_processes")
    if isinstance(every, int):
        _say(found, "dp", every, "_all")
    elif isinstance(each, int):
        _say(found, "dp", each * count, "_processes")
    ranks, steps, batch = found.value("dp"), found.value("_accumulation"), found.value("microBatch")
    if isinstance(ranks, int) and isinstance(steps, int) and isinstance(batch, int):
        _say(found, "globalBatch", ranks * steps * batch, "_accumulation")


def _sharing(found: Said) -> None:
    stage = found.value("_stage")
    if isinstance(stage, int):
        _say(found, "sharding.mode", f"zero-{stage}" if stage else "ddp", "_stage")
    elif found.value("_fsdp"):
        _say(found, "sharding.mode", "fsdp", "_fsdp")
    elif found.value("_shards"):
        _say(found, "sharding.mode", "fsdp", "_shards")


def by_script(words: Iterable[str], found: Said) -> None:
    """Say what a script of TRL learns; of any other, what nothing says is not understood.

    A script may set in code what no option says, and then has no defaults that are known.
    """
    names = (_SCRIPT.fullmatch(word.rpartition("/")[2]) for word in words)
    learns = [
        OBJECTIVES[match.group(1)] for match in names if match and match.group(1) in OBJECTIVES
    ]
    if learns:
        found.terms["objective"] = Term("objective", learns[0], SCRIPT)
        return
    for field in OF_SCRIPTS:
        if field not in found.terms:
            found.unread.setdefault(field, "not said")


MEANS = {
    "_accumulation": "globalBatch",
    "_recompute": "recompute",
    "_bf16": "computePrecision",
    "_fp16": "computePrecision",
    "_liger": "loss",
    "_peft": "method",
    "_dora": "method",
    "_four": "method",
    "_eight": "weightsFormat",
    "_processes": "dp",
    "_all": "dp",
    "_nodes": "nodesPerReplica",
    "_stage": "sharding.mode",
    "_fsdp": "sharding.mode",
    "_shards": "sharding.mode",
}

ASSUMED = (
    Assumed("method", "full", "nothing says that adapters are trained"),
    Assumed("sequenceLength", SEQUENCE, "TRL's default"),
    Assumed("microBatch", BATCH, "transformers' default"),
    Assumed("sharding.mode", None, "nothing that is read says how the ranks share"),
)


def _table(name: str, sources: str) -> Table:
    return Table(
        name=name,
        base={"kind": "fine-tuning"},
        flags=FLAGS,
        assumed=ASSUMED,
        sources=f"{sources}; src/transformers/training_args.py; trl/trainer/model_config.py and "
        "sft_config.py of TRL (July 2026)",
        finish=finish,
        context=SEQUENCE,
        means=MEANS,
    )


TORCHRUN = _table("torchrun", "torch/distributed/run.py of PyTorch")
ACCELERATE = _table("accelerate", "src/accelerate/commands/launch.py of accelerate")
DEEPSPEED = _table("deepspeed", "deepspeed/launcher/runner.py of DeepSpeed")
TRL = _table("TRL", "trl/cli/ of TRL")
