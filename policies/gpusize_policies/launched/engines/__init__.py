"""One table for each engine and trainer whose options are known, and how each is recognized."""

from __future__ import annotations

from functools import lru_cache

from gpusize_policies.launched.engines import (
    llama_cpp,
    lmi,
    ollama,
    sglang,
    tgi,
    training,
    vllm,
)
from gpusize_policies.launched.flags import Table
from gpusize_policies.launched.launch import FURTHER

TABLES: tuple[Table, ...] = (
    vllm.TABLE,
    sglang.TABLE,
    tgi.TABLE,
    llama_cpp.TABLE,
    ollama.TABLE,
    lmi.TABLE,
    training.TORCHRUN,
    training.ACCELERATE,
    training.DEEPSPEED,
    training.TRL,
)

COMMANDS: dict[tuple[str, ...], Table] = {
    ("vllm", "serve"): vllm.TABLE,
    ("sglang", "serve"): sglang.TABLE,
    ("text-generation-launcher",): tgi.TABLE,
    ("llama-server",): llama_cpp.TABLE,
    ("ollama", "run"): ollama.TABLE,
    ("ollama", "pull"): ollama.TABLE,
    ("ollama", "serve"): ollama.TABLE,
    ("torchrun",): training.TORCHRUN,
    ("accelerate", "launch"): training.ACCELERATE,
    ("accelerate-launch",): training.ACCELERATE,
    ("deepspeed",): training.DEEPSPEED,
    ("trl", "sft"): training.TRL,
    ("trl", "dpo"): training.TRL,
    ("trl", "kto"): training.TRL,
    ("trl", "reward"): training.TRL,
}
"""By the first words of a command."""

MODULES: dict[str, Table] = {
    "vllm.entrypoints.openai.api_server": vllm.TABLE,
    "vllm.entrypoints.api_server": vllm.TABLE,
    "sglang.launch_server": sglang.TABLE,
    "torch.distributed.run": training.TORCHRUN,
    "torch.distributed.launch": training.TORCHRUN,
    "accelerate.commands.launch": training.ACCELERATE,
}
"""By the module that Python runs."""

IMAGES: dict[str, tuple[Table, tuple[str, ...]]] = {
    "vllm-openai": (vllm.TABLE, ()),
    "text-generation-inference": (tgi.TABLE, ()),
    "huggingface-pytorch-tgi-inference": (tgi.TABLE, ()),
    "ollama/ollama": (ollama.TABLE, ("serve", "run", "pull")),
    "llama.cpp": (llama_cpp.TABLE, ()),
    "djl-inference": (lmi.TABLE, ("serve",)),
    "djl-serving": (lmi.TABLE, ("serve",)),
}
"""By the end of an image's name: the images of the projects start their engine themselves, and what
stands after the image are its options. The second entry names words that may stand before them."""

TELLING = frozenset({"HF_MODEL_ID", "OPTION_MODEL_ID"})
"""Variables that are set for a model server of SageMaker alone."""
LMI_PREFIX = "OPTION_"


@lru_cache(maxsize=1)
def environment_names() -> frozenset[str]:
    """Names of all variables that a table reads."""
    names = {name for table in TABLES for flag in table.flags for name in flag.env}
    return frozenset(names | {FURTHER})


def telling_names() -> frozenset[str]:
    """Names of variables that tell by themselves that a model is served."""
    return TELLING
