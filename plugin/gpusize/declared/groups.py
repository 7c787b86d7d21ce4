"""Groups of fields that several kinds of work share."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gpusize.declared.words import (
    Amount,
    CheckpointLocation,
    CommitmentPlan,
    Fraction,
    Natural,
    Positive,
    PositiveFloat,
    Share,
    Switch,
    Text,
    TrafficShape,
    WeightsLocation,
)
from gpusize.declaring.vocabulary import NATIVE_FORMATS
from gpusize.names import to_camel

_SCHEDULE_KEYS = ("hoursPerDay", "hours_per_day", "daysPerWeek", "days_per_week")


def is_number(value: Any) -> bool:
    """Tell a number from a boolean, which Python counts among them."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Group(BaseModel):
    """A group of fields: unknown keys are errors, values never change."""

    short_form: ClassVar[str] = ""
    """What may stand in place of the fields, in words."""
    mark: ClassVar[str] = ""
    """The key that tells it from another group that may stand in the same place."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        defer_build=True,
        protected_namespaces=(),
    )

    @classmethod
    def expand(cls, value: Any) -> Any:
        """The fields that a short form stands for; anything else as it is."""
        return value

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, value: Any) -> Any:
        return cls.expand(value)


class Replicas(Group):
    """Copies of the whole placement; a bare number fixes both ends."""

    min: Natural | None = Field(
        None,
        description="Fewest replicas; 0 scales to zero; gpusize decides where it is left out.",
    )
    max: Positive = Field(1, description="Most replicas.")
    on_demand_base: Natural | None = Field(
        None,
        description="Replicas that always run on demand, where the market is spot; the rest is "
        "spot as far as spotShare says.",
    )
    spot_share: Share | None = Field(
        None, description="Part of the replicas above onDemandBase that is spot; all by default."
    )

    short_form: ClassVar[str] = "a number of replicas"

    @classmethod
    def expand(cls, value: Any) -> Any:
        """A bare number fixes both ends; the most are never fewer than the fewest."""
        if is_number(value):
            return {"min": value, "max": value}
        least = value.get("min") if isinstance(value, Mapping) and "max" not in value else None
        if not isinstance(least, (int, float)) or least <= 1:
            return value
        return {**value, "max": least}


class Traffic(Group):
    """When requests come; part of a day or of a week means scheduled where no shape is given."""

    shape: TrafficShape = Field(TrafficShape.STEADY, description="How requests come over the day.")
    hours_per_day: Annotated[float, Field(gt=0, le=24, strict=True)] = Field(
        24.0, description="Hours of a day with requests."
    )
    days_per_week: Annotated[float, Field(gt=0, le=7, strict=True)] = Field(
        7.0, description="Days of a week with requests, from Monday on."
    )
    start: Text = Field(
        "08:00", description="When requests begin on a day, HH:MM.", examples=["08:00"]
    )
    time_zone: Text = Field(
        "UTC", description="Time zone of that hour, as IANA names it.", examples=["Europe/Berlin"]
    )

    @classmethod
    def expand(cls, value: Any) -> Any:
        """Hours or days below the whole mean that traffic keeps to a schedule."""
        if not isinstance(value, Mapping) or "shape" in value:
            return value
        parts = [value.get(key) for key in _SCHEDULE_KEYS if key in value]
        whole = all(not is_number(part) or part in (24, 7) for part in parts)
        return value if whole else {**value, "shape": TrafficShape.SCHEDULED}


class Budget(Group):
    """Ceilings in USD."""

    per_hour: PositiveFloat | None = Field(None, description="USD per hour of all replicas.")
    per_month: PositiveFloat | None = Field(None, description="USD per month of all replicas.")
    per_run: PositiveFloat | None = Field(None, description="USD per run of bounded work.")


class Storage(Group):
    """Where weights lie and what is moved."""

    weights: WeightsLocation = Field(
        WeightsLocation.ROOT_VOLUME, description="Where the weights lie before they are loaded."
    )
    weights_region: Text | None = Field(
        None, description="AWS region of the weights; the workload's own where it is left out."
    )
    root_volume_gib: Positive | None = Field(
        None, description="Size of the root volume, GiB; gpusize decides where it is left out."
    )
    root_volume_throughput_mbps: Positive | None = Field(
        None, description="Throughput of the root volume, MB/s."
    )
    image_gib: Positive | None = Field(
        None,
        description="System, CUDA libraries and container image on the root volume, GiB; an "
        "ordinary size is taken where it is left out.",
    )
    dataset_gib: Amount = Field(0.0, description="Training or evaluation data kept in S3, GiB.")
    fsx_gib: Positive | None = Field(
        None, description="Size of an FSx for Lustre file system (persistent SSD), GiB."
    )
    fsx_mbps_per_tib: Positive | None = Field(
        None, description="Throughput of that file system, MB/s per TiB; 125 where it is left out."
    )
    load_seconds: PositiveFloat | None = Field(
        None, description="Longest time to load the weights at a start, seconds."
    )
    egress_gb_per_month: Amount = Field(
        0.0, description="Data sent out of the region, GB per month."
    )


class Checkpoints(Group):
    """Progress that outlives an interruption."""

    interval_minutes: PositiveFloat = Field(
        description="Longest time between two checkpoints, minutes.", examples=[30]
    )
    location: CheckpointLocation = Field(
        CheckpointLocation.S3, description="Where progress is kept."
    )


class CapacityBlock(Group):
    """A capacity block of ML capacity, bought whole and ahead; a bare number is its days."""

    days: Positive = Field(description="Length of the block, days.", examples=[7])
    start: Text | None = Field(
        None,
        description="Day on which it starts (11:30 UTC), YYYY-MM-DD; when the run starts where it "
        "is left out.",
        examples=["2027-01-11"],
    )
    instances: Positive | None = Field(
        None, description="Instances of the block; as many as the work takes where it is left out."
    )
    zone: Text | None = Field(None, description="Availability zone of the block.")

    short_form: ClassVar[str] = "a number of days"

    @classmethod
    def expand(cls, value: Any) -> Any:
        """A bare number is the days."""
        return {"days": value} if is_number(value) else value


class Reserve(Group):
    """On-demand capacity that is to be reserved for the work, used or not."""

    instances: Positive | None = Field(
        None, description="Instances to reserve; as many as the work takes where it is left out."
    )
    until: Text | None = Field(
        None,
        description="Day on which the reservation ends, YYYY-MM-DD; open where it is left out.",
        examples=["2027-06-30"],
    )


class Commitment(Group):
    """A discount for a term of use; a text is the plan."""

    plan: CommitmentPlan = Field(description="What covers the bill.", examples=["savings-plan"])
    years: Positive = Field(1, description="Term, years: 1 or 3.")

    short_form: ClassVar[str] = "a plan"

    @classmethod
    def expand(cls, value: Any) -> Any:
        """A text is the plan."""
        return {"plan": value} if isinstance(value, str) else value


class AutoStop(Group):
    """When instances of bounded work stop by themselves."""

    idle_minutes: Positive | None = Field(
        None, description="Minutes without work after which an instance stops."
    )
    max_hours: PositiveFloat | None = Field(
        None, description="Hours after which an instance stops in any case."
    )


class Neighbor(Group):
    """Another process on the same GPUs."""

    name: Text = Field(description="What to call it in answers.", examples=["embedder"])
    memory_gib: PositiveFloat | None = Field(
        None, description="Memory that it takes on each GPU, GiB."
    )
    memory_fraction: Fraction | None = Field(
        None, description="Share of each GPU's memory that it takes."
    )


class InlineModel(Group):
    """An architecture given in place of a catalog id; names follow the hub's config.json."""

    name: Text = Field("inline", description="What to call the model in answers.")
    total_params: Positive = Field(
        description="All parameters, counted in ones.", examples=[8030261248]
    )
    active_params: Positive | None = Field(
        None, description="Parameters that one token passes; all of them where it is left out."
    )
    layers: Positive = Field(description="Transformer layers.", examples=[32])
    hidden: Positive = Field(description="Width of the residual stream.", examples=[4096])
    intermediate: Positive | None = Field(
        None, description="Width of the MLP of a dense layer; 4 x hidden where it is left out."
    )
    heads: Positive = Field(description="Attention heads.", examples=[32])
    kv_heads: Positive = Field(description="Key/value heads.", examples=[8])
    head_dim: Positive | None = Field(
        None, description="Width of one head; hidden / heads where it is left out."
    )
    vocab: Positive = Field(description="Rows of the embedding table.", examples=[128256])
    tie_embeddings: Switch = Field(
        False, description="Whether the output head is the embedding table."
    )
    max_position: Positive | None = Field(
        None, description="Longest context that the model was made for, tokens."
    )
    kv_lora_rank: Positive | None = Field(
        None, description="Rank of the compressed key/value state of latent attention (MLA)."
    )
    qk_rope_head_dim: Positive | None = Field(
        None, description="Rotary width beside that state (MLA)."
    )
    sliding_window: Positive | None = Field(None, description="Window of local layers, tokens.")
    sliding_layers: Natural | None = Field(
        None, description="Layers with that window; every layer where it is left out."
    )
    experts_total: Positive | None = Field(None, description="Routed experts of one MoE layer.")
    experts_active: Positive | None = Field(
        None, description="Routed experts that one token passes in a layer."
    )
    shared_experts: Natural | None = Field(
        None, description="Experts of one MoE layer that every token passes."
    )
    moe_intermediate: Positive | None = Field(None, description="Width of one expert.")
    first_dense_layers: Natural | None = Field(
        None, description="Layers before the first MoE layer."
    )
    vision_params: Natural | None = Field(
        None, description="Parameters of the vision tower, part of the total."
    )
    native_format: Annotated[str, NATIVE_FORMATS] = Field(
        "bf16", description="Format of the published weights."
    )


class WaiverEntry(Group):
    """An accepted finding: why, by whom, until when."""

    id: Text | None = Field(None, description="Name of the waiver, for tags that refer to it.")
    rule: Text = Field(
        description="Code or name of the waived rule.", examples=["no-memory-headroom"]
    )
    reason: Text = Field(
        description="Why the finding is accepted.",
        examples=["measured at peak load, 2 GiB stay free"],
    )
    owner: Text = Field(description="Who answers for it.", examples=["ml-platform"])
    expires: Text = Field(
        description="Last day on which it holds, YYYY-MM-DD.", examples=["2027-01-31"]
    )
    evidence: Text | None = Field(
        None, description="Link or path to a measurement, where the rule asks for one."
    )
