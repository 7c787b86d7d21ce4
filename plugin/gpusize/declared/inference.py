"""Work that generates tokens: serving, batch inference and evaluation of language models."""

from typing import Annotated, Any, ClassVar

from pydantic import Field

from gpusize.declared.base import Bounded, Service, Workload
from gpusize.declared.groups import Group, Replicas, is_number
from gpusize.declared.words import Amount, Fraction, Natural, Positive, PositiveFloat, Switch, Text
from gpusize.declaring.vocabulary import ENGINES, KV_CACHE_FORMATS


class Tokens(Group):
    """A distribution of token counts per sequence; a bare number is the mean."""

    mean: Positive = Field(description="Mean, tokens.", examples=[1500])
    p95: Positive | None = Field(
        None, description="95th percentile, tokens; the mean where it is left out."
    )

    short_form: ClassVar[str] = "a number of tokens"

    @classmethod
    def expand(cls, value: Any) -> Any:
        """A bare number is the mean."""
        return {"mean": value} if is_number(value) else value

    @property
    def high(self) -> int:
        """The 95th percentile, or the mean where none is declared."""
        return self.mean if self.p95 is None else self.p95


class Engine(Group):
    """The serving engine; also written `name@version`."""

    name: Annotated[str, ENGINES] = Field("vllm", description="Serving engine.")
    version: Text | None = Field(
        None, description="Engine version, as released; the newest known where it is left out."
    )
    memory_fraction: Fraction | None = Field(
        None,
        description="Share of the GPU's memory that the engine may take; the engine version's own "
        "default where it is left out.",
    )
    max_batched_tokens: Positive | None = Field(
        None,
        description="Tokens that one step of the engine processes at most; the engine version's "
        "own default where it is left out.",
    )
    max_sequences: Positive | None = Field(
        None,
        description="Sequences that one step of the engine processes at most; the engine "
        "version's own default where it is left out.",
    )
    eager: Switch = Field(False, description="Whether the engine runs without CUDA graphs.")
    cpu_offload_gib: Amount = Field(
        0.0, description="Weights kept in host memory, GiB per GPU.", examples=[4]
    )
    speculative: Text | None = Field(
        None, description="Draft model of speculative decoding: a catalog id, alias or config path."
    )
    speculative_tokens: Positive | None = Field(
        None, description="Tokens that the draft model proposes in each step."
    )
    speculative_acceptance: Fraction | None = Field(
        None, description="Share of the proposed tokens that is accepted, as measured."
    )
    lora_adapters: Natural = Field(0, description="LoRA adapters held on the GPU at once.")

    short_form: ClassVar[str] = "name@version"

    @classmethod
    def expand(cls, value: Any) -> Any:
        """A text is the name, with the version after an @."""
        if not isinstance(value, str):
            return value
        name, _, version = value.partition("@")
        return {"name": name, "version": version} if version else {"name": name}


class Latency(Group):
    """Targets that a user feels, at the declared concurrency."""

    time_per_output_token_ms: PositiveFloat | None = Field(
        None, description="Longest mean time between two output tokens, milliseconds."
    )
    time_to_first_token_ms: PositiveFloat | None = Field(
        None, description="Longest time from request to first token, milliseconds."
    )


class Images(Group):
    """Images of one prompt."""

    per_prompt: Positive = Field(1, description="Images in one prompt.")
    width: Positive = Field(1024, description="Width of one image, pixels.")
    height: Positive = Field(1024, description="Height of one image, pixels.")


class Inference(Workload):
    """Fields of every kind that generates tokens."""

    engine: Engine = Field(
        Engine.model_construct(), description="Serving engine: name@version or its settings."
    )
    kv_cache_format: Annotated[str, KV_CACHE_FORMATS] = Field(
        "auto", description="Format of the KV cache; auto: the compute precision."
    )
    context_length: Positive = Field(
        description="The engine's limit for one sequence, prompt and output, tokens.",
        examples=[8192],
    )
    prompt_tokens: Tokens | None = Field(
        None, description="Tokens of a prompt; contextLength bounds them where it is left out."
    )
    output_tokens: Tokens | None = Field(
        None, description="Tokens of an answer; contextLength bounds them where it is left out."
    )
    concurrency: Positive = Field(1, description="Sequences at once in one replica.")
    replicas: Replicas = Field(
        Replicas.model_construct(), description="Copies of the whole placement."
    )


class Serving(Service, Inference):
    """A service that answers requests."""

    latency: Latency = Field(Latency.model_construct(), description="Targets that a user feels.")


class BatchInference(Bounded, Inference):
    """Bounded generation over a set of inputs."""

    samples: Positive | None = Field(
        None,
        description="Sequences that one run generates; its hours follow from them where runHours "
        "is left out.",
    )
