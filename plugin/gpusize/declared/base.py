"""Fields that every kind of work takes, and those of services and of bounded work."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from gpusize.declared.components import InlinePipeline
from gpusize.declared.groups import (
    AutoStop,
    Budget,
    CapacityBlock,
    Checkpoints,
    Commitment,
    Group,
    InlineModel,
    Neighbor,
    Reserve,
    Storage,
    Traffic,
    WaiverEntry,
)
from gpusize.declared.measured import Measurement
from gpusize.declared.words import (
    InterruptionTolerance,
    Kind,
    Market,
    Modality,
    Positive,
    PositiveFloat,
    Processor,
    Switch,
    Text,
)
from gpusize.declaring.vocabulary import COMPUTE_PRECISIONS, WEIGHTS_FORMATS


class Workload(Group):
    """Fields that every kind takes."""

    kind: Kind = Field(description="What runs.", examples=["serving"])
    modality: Modality = Field(Modality.TEXT, description="What goes in and out.")
    model: Text | InlineModel | InlinePipeline = Field(
        description="Model: a catalog id or alias, the path of a config.json, of a .gguf, "
        ".safetensors or model.safetensors.index.json (exact bytes), or an architecture; "
        "for images, videos and most of audio the id of a pipeline, or its components.",
        examples=["meta-llama/Llama-3.1-8B-Instruct"],
    )
    weights_format: Annotated[str, WEIGHTS_FORMATS] = Field(
        "auto", description="Format of the weights that the engine loads; auto: as published."
    )
    compute_precision: Annotated[str, COMPUTE_PRECISIONS] = Field(
        "auto", description="Precision of activations and matrix products; auto: the engine's own."
    )
    region: Text = Field(description="AWS region.", examples=["us-east-1"])
    zone: Text | None = Field(None, description="Availability zone, where one is required.")
    tp: Positive | None = Field(None, description="Tensor-parallel ranks of one replica.")
    pp: Positive | None = Field(None, description="Pipeline stages of one replica.")
    dp: Positive | None = Field(None, description="Copies of the model inside one replica.")
    ep: Positive | None = Field(None, description="Ranks that share the experts of a stage.")
    instance_type: Text | None = Field(
        None, description="EC2 instance type; gpusize decides where it is left out."
    )
    nodes_per_replica: Positive | None = Field(
        None, description="Instances that one replica spans; gpusize decides where it is left out."
    )
    market: Market | None = Field(
        None, description="How capacity is bought; gpusize decides where it is left out."
    )
    capacity_reservation: Text | None = Field(
        None, description="Id of the capacity reservation or block to launch into."
    )
    image_architecture: Processor | None = Field(
        None,
        description="Processor that the image is built for; where it is left out, x86_64 is taken, "
        "and a pinned instance type to suit its image.",
        examples=["arm64"],
    )
    interruption_tolerance: InterruptionTolerance | None = Field(
        None, description="What an interruption costs; follows from the kind where it is left out."
    )
    capacity_block: CapacityBlock | None = Field(
        None, description="The capacity block that is bought for it: days, or its fields."
    )
    reserve: Reserve | None = Field(
        None, description="On-demand capacity that gpusize is to reserve for it."
    )
    commitment: Commitment | None = Field(
        None, description="A discount for a term of use that covers the bill: a plan or its fields."
    )
    neighbors: tuple[Neighbor, ...] = Field(
        (), description="Other processes on the same GPUs, with the memory that they take."
    )
    measured: tuple[Measurement, ...] = Field(
        (),
        description="What was measured of this workload, which takes the place of the estimate "
        "where GPU, engine and layout are the same.",
    )
    budget: Budget = Field(Budget.model_construct(), description="Ceilings in USD.")
    storage: Storage = Field(
        Storage.model_construct(), description="Where weights lie and what is moved."
    )
    tags: dict[str, str] = Field({}, description="Tags for every resource of the workload.")
    waivers: tuple[WaiverEntry, ...] = Field((), description="Findings that are accepted.")

    default_tolerance: ClassVar[InterruptionTolerance] = InterruptionTolerance.NONE

    @property
    def tolerance(self) -> InterruptionTolerance:
        """What an interruption costs: as declared, or as usual for the kind."""
        return self.interruption_tolerance or self.default_tolerance

    def pinned(self, pins: Mapping[str, Any]) -> "Workload":
        """The same workload with other pins; sizes that its kind does not have are left out."""
        known = type(self).model_fields
        return self.model_copy(update={name: pins[name] for name in pins if name in known})


class Service(Group):
    """Fields of what answers until further notice."""

    user_facing: Switch = Field(True, description="Whether a person waits for the answer.")
    traffic: Traffic = Field(Traffic.model_construct(), description="When requests come.")
    horizon_months: PositiveFloat | None = Field(
        None, description="Months that the service is to run."
    )


class Bounded(Group):
    """Fields of what runs to an end."""

    run_hours: PositiveFloat | None = Field(
        None,
        description="Length of one run, hours; of training from its tokens where it is left out.",
    )
    deadline_hours: PositiveFloat | None = Field(
        None, description="Hours from its start after which the result of a run is too late."
    )
    auto_stop: AutoStop | None = Field(
        None, description="When instances stop by themselves after the work."
    )
    runs_per_month: PositiveFloat | None = Field(None, description="Runs in a month.")
    checkpoints: Checkpoints | None = Field(
        None, description="How progress is kept over an interruption."
    )

    default_tolerance: ClassVar[InterruptionTolerance] = InterruptionTolerance.RESTARTABLE
