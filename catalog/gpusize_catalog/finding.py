"""Search over the whole catalog, for people who look for an id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize_catalog.units import GIB, gib

if TYPE_CHECKING:
    from gpusize_catalog.facts import BillingTerms, Gpu, InstanceType, ModelFacts
    from gpusize_catalog.store import Catalog

BILLION = 10**9


def search(catalog: Catalog, words: str) -> list[tuple[str, str, str]]:
    """Return (table, id, summary) of the rows whose id or summary holds every word."""
    wanted = words.lower().split()
    return [
        entry
        for entry in _entries(catalog)
        if all(word in f"{entry[1]} {entry[2]}".lower() for word in wanted)
    ]


def _entries(catalog: Catalog) -> list[tuple[str, str, str]]:
    """Return one entry per row of the tables that people search."""
    return [
        *(("gpus", gpu.id, _gpu(gpu)) for gpu in catalog.gpus()),
        *(("instances", one.id, _instance(one)) for one in catalog.instances()),
        *(("models", model.id, _model(model)) for model in catalog.models()),
        *(("model_aliases", one.alias, f"as {one.model_id}") for one in catalog.aliases()),
        *(("diffusion_components", name, _pipeline(catalog, name)) for name in catalog.pipelines()),
        *(("formats", form.id, form.name) for form in catalog.formats()),
        *(("engines", name, _engine(catalog, name)) for name in catalog.engine_names()),
        *(("regions", code, _region(catalog, code)) for code in catalog.regions()),
        *(("billing", terms.option, _terms(terms)) for terms in catalog.billing_terms()),
    ]


def _gpu(gpu: Gpu) -> str:
    usable = gib(gpu.usable_bytes) + " usable" if gpu.usable_bytes else "usable memory unknown"
    capability = gpu.compute_capability
    cuda = f"compute capability {capability[0]}.{capability[1]}" if capability else "no CUDA"
    return f"{gpu.display_name}: {usable}, {cuda}"


def _instance(instance: InstanceType) -> str:
    count = "unknown number of" if instance.gpus is None else str(instance.gpus)
    share = "" if instance.partition == 1 else f" (1/{1 / instance.partition:g} of it)"
    memory = f", {instance.memory_bytes / GIB:g} GiB host memory" if instance.memory_bytes else ""
    device = instance.gpu_id or instance.api_name or "GPU"
    return f"{count} x {device}{share}{memory}, {instance.status.value}"


def _pipeline(catalog: Catalog, name: str) -> str:
    parts = catalog.components(name)
    makes = next((part.makes for part in parts if part.makes), "")
    size = sum(part.params or 0 for part in parts)
    known = f"{size / BILLION:.1f}B parameters" if size else "parameters not counted"
    count = f"{len(parts)} component{'s' if len(parts) > 1 else ''}"
    return f"{known}, {count}{', makes ' + makes if makes else ''}"


def _model(model: ModelFacts) -> str:
    size = f"{model.total_params / BILLION:.1f}B parameters"
    active = ""
    if model.experts_total and model.active_params:
        active = f", {model.active_params / BILLION:.1f}B active"
    return f"{size}{active}, {model.layers} layers, {model.attention_kind}, {model.modality}"


def _engine(catalog: Catalog, name: str) -> str:
    newest = catalog.engines(name)[-1].newest
    return f"constants by version, up to {newest}"


def _region(catalog: Catalog, code: str) -> str:
    region = catalog.region(code)
    basis = f", known by {region.coverage.value}" if region else ""
    return f"{len(catalog.offerings(code))} accelerated instance types{basis}"


def _terms(terms: BillingTerms) -> str:
    return f"{terms.provider}: billed by {terms.granularity}"
