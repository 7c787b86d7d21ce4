"""Does a workload fit a placement: one pure function, and a form of it for many placements.

What is common to all kinds of work stands here; how one kind uses memory is a sizer of `SIZERS`,
in a module of its own. A kind without one is `unknown`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusize.memory.neighbors import held
from gpusize.memory.result import Assumption, Fit, Verdict, unknown
from gpusize.memory.runtime import Device
from gpusize.memory.serving import Serving
from gpusize.memory.training.sizer import Training

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from gpusize.architecture import Architecture
    from gpusize.memory.measured import Found
    from gpusize.placement import Layout, Placement
    from gpusize.workload import Workload
    from gpusize_catalog.store import Catalog

    class Sizer(Protocol):
        """How one kind of work uses memory: made once for a workload, asked for each placement."""

        assumptions: list[Assumption]
        problems: list[str]
        constants: tuple[str, ...]

        def measure(self, device: Device, layout: Layout) -> Fit:
            """The fit on one kind of device; only asked where there are no problems."""
            ...

        def floor(self, layout: Layout) -> int:
            """Bytes of a rank below which no device holds it; 0 where that is not known."""
            ...


NVLINK = frozenset({"nvlink", "nvswitch"})
"""Ways to join GPUs over which engines talk without the host."""
SIZERS: dict[str, Callable[..., Sizer]] = {
    "serving": Serving,
    "batch-inference": Serving,
    "evaluation": Serving,
    "fine-tuning": Training,
    "pre-training": Training,
}
"""By kind of work."""


def _diffusion(workload: Any, architecture: Architecture, catalog: Catalog) -> Sizer:
    from gpusize.workload import DiffusionTraining

    if isinstance(workload, DiffusionTraining):
        from gpusize.memory.diffusion_training.sizer import DiffusionTrainer

        return DiffusionTrainer(workload, architecture, catalog)
    from gpusize.memory.diffusion.sizer import Diffusion

    return Diffusion(workload, architecture, catalog)


def _embedder(workload: Any, architecture: Architecture, catalog: Catalog) -> Sizer:
    from gpusize.memory.embedding import Embedder

    return Embedder(workload, architecture, catalog)


def _of_sound(workload: Any, architecture: Architecture, catalog: Catalog) -> Sizer:
    if architecture.pipeline is not None:
        return _diffusion(workload, architecture, catalog)
    from gpusize.memory.recognition import Recognizer

    return Recognizer(workload, architecture, catalog)


BY_MODALITY: dict[str, Callable[..., Sizer]] = {
    "image": _diffusion,
    "video": _diffusion,
    "embedding": _embedder,
    "audio": _of_sound,
}
"""Where the modality decides more than the kind: what generates no tokens."""


def fit(
    workload: Workload,
    placement: Placement,
    catalog: Catalog,
    architecture: Architecture | None = None,
) -> Fit:
    """Memory of the worst GPU of a placement; resolves the architecture where none is given."""
    if architecture is None:
        from gpusize.architecture import architecture_for

        architecture = architecture_for(workload, catalog)
    return Sizing(workload, architecture, catalog).fit(placement)


class Sizing:
    """One workload, sized for many placements; each kind of device and layout is sized once."""

    __slots__ = (
        "_fits",
        "_found",
        "_least",
        "context_length",
        "kind",
        "measured",
        "neighbors",
        "sizer",
    )

    def __init__(self, workload: Workload, architecture: Architecture, catalog: Catalog) -> None:
        """Choose the sizer of the kind of work."""
        self.kind: str = workload.kind.value
        length = getattr(workload, "sequence_length", 0)
        self.context_length: int = getattr(workload, "context_length", length)
        sizer = BY_MODALITY.get(workload.modality.value) or SIZERS.get(self.kind)
        self.sizer: Sizer | None = sizer(workload, architecture, catalog) if sizer else None
        # An engine takes its share of a GPU's memory by rules of its own, neighbors or not.
        self.neighbors = () if isinstance(self.sizer, Serving) else workload.neighbors
        self.measured = workload.measured
        self._fits: dict[tuple[object, ...], Fit] = {}
        self._found: dict[tuple[object, ...], Found] = {}
        self._least: float | None = None

    def fit(self, placement: Placement) -> Fit:
        """Memory of the worst GPU of a placement: as measured where that holds, else estimated."""
        key = self._key(placement)
        found = self._fits.get(key)
        if found is None:
            sizer, usable, gpu = self.sizer, placement.usable_bytes, placement.gpu
            if sizer is None:
                found = self._unknown(f"memory of {self.kind} is not modelled yet")
            elif not gpu.cuda:
                found = self._unknown(f"no engine constants for {gpu.display_name} (not CUDA)")
            elif usable is None:
                found = self._unknown(f"usable memory of {gpu.display_name} is not known")
            elif sizer.problems:
                found = self._unknown(*sizer.problems)
            else:
                if self.neighbors:
                    usable = max(1, usable - held(self.neighbors, usable))
                device = Device(usable, gpu.compute_capability, _has_nvlink(placement))
                found = self._sized(sizer, device, placement)
                if found.verdict is Verdict.UNKNOWN:
                    found = self._unknown(*found.reasons)
            self._fits[key] = found
        return found

    def measurement(self, placement: Placement) -> Found | None:
        """The measurement that is nearest to a placement, and why it does not hold there."""
        self.fit(placement)
        return self._found.get(self._key(placement))

    def _sized(self, sizer: Sizer, device: Device, placement: Placement) -> Fit:
        if not self.measured:
            return sizer.measure(device, placement.layout)
        from gpusize.memory import measured

        fit, near = measured.sized(self.measured, sizer, device, placement, self.kind)
        self._found[self._key(placement)] = near
        return fit

    def _key(self, placement: Placement) -> tuple[object, ...]:
        """What a fit depends on."""
        gpu = placement.gpu
        key = (
            placement.usable_bytes,
            gpu.compute_capability,
            gpu.cuda,
            _has_nvlink(placement),
            placement.layout,
        )
        return (*key, gpu.id, placement.instance.partition) if self.measured else key

    def is_hopeless(self, placement: Placement) -> bool:
        """Whether the work is certainly too large, found without sizing it."""
        usable = placement.usable_bytes
        if self.sizer is None or usable is None or self.sizer.problems:
            return False
        return self.floor(placement.layout) > usable

    def may_fit(self, placement: Placement) -> bool:
        """Whether a training run may fit with no doubt left; yes where sizing it has to tell."""
        usable, sizer = placement.usable_bytes, self.sizer
        if usable is None or not isinstance(sizer, Training) or sizer.problems or self.measured:
            return True
        return sizer.states(placement.layout) <= usable

    def floor(self, layout: Layout) -> int:
        """Bytes of a rank below which no GPU holds it; 0 where that is not known."""
        return self.sizer.floor(layout) if self.sizer else 0

    @property
    def least(self) -> float:
        """Bytes below which all GPUs together do not hold the work; 0: not known."""
        if self._least is None:
            sizer = self.sizer
            self._least = 0.0
            if isinstance(sizer, (Training, Serving)) and not sizer.problems:
                self._least = sizer.least()
        return self._least

    def _unknown(self, *reasons: str) -> Fit:
        """A fit without figures, and why."""
        assumptions = tuple(self.sizer.assumptions) if self.sizer else ()
        constants = self.sizer.constants if self.sizer else ()
        return unknown(reasons, self.context_length, assumptions, constants)


def _has_nvlink(placement: Placement) -> bool:
    return placement.instance.interconnect.value in NVLINK
