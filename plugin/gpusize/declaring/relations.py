"""What must hold between the fields of a declaration, one function per subject.

Every function yields problems and looks only at values that are well-formed by themselves: what is
missing or told already is `None` here and never makes a second problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from gpusize_catalog.problems import Problem

MAX_TAGS = 50
"""User tags on one resource. Source: Amazon EC2 user guide, tag restrictions."""
MAX_TAG_KEY = 128
"""Characters of a tag key. Source: as above."""
MAX_TAG_VALUE = 256
"""Characters of a tag value. Source: as above."""
LATENT_SCALE = 8
"""Pixels per latent pixel, each way, at least. Source: the pipelines of diffusers refuse others."""
WHOLE_DAY = 24
WHOLE_WEEK = 7


class Given:
    """Well-formed values of a declaration by camelCase path."""

    def __init__(self, data: dict[str, Any], bad: set[str]) -> None:
        """Keep the data and the paths (below its root) that are told already."""
        self._data = data
        self._bad = bad

    def value(self, path: str) -> Any:
        """Whatever stands at a path, `None` where nothing or nothing good does."""
        value: Any = self._data
        seen = ""
        for part in path.split("."):
            seen = f"{seen}.{part}" if seen else part
            if seen in self._bad or not isinstance(value, dict):
                return None
            value = value.get(part)
        return value

    def is_bad(self, path: str) -> bool:
        """Whether something wrong stands at a path, and is told."""
        return path in self._bad

    def number(self, path: str) -> float | None:
        """A number at a path."""
        value = self.value(path)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return value if is_number else None

    def text(self, path: str) -> str | None:
        """A text at a path."""
        value = self.value(path)
        return value if isinstance(value, str) else None

    def has(self, path: str) -> bool:
        """Whether anything is declared at a path."""
        return self.value(path) is not None


Relation = Callable[[Given], Iterator[Problem]]


def region_form(given: Given) -> Iterator[Problem]:
    """A region is written like us-east-1."""
    for path in ("region", "storage.weightsRegion"):
        region = given.text(path)
        if region is None or _is_region(region):
            continue
        if region[-1:].isalpha() and _is_region(region[:-1]):
            yield Problem(
                path, "is an availability zone", f"write {region[:-1]}; the zone goes into zone"
            )
        else:
            yield Problem(path, "is not an AWS region", "write it like us-east-1")


def zone_of_region(given: Given) -> Iterator[Problem]:
    """A zone lies in the declared region: us-east-1a, or a zone id like use1-az4."""
    zone, region = given.text("zone"), given.text("region")
    if zone is None or region is None or not _is_region(region):
        return
    name, _, number = zone.rpartition("-az")
    is_id = bool(name) and number.isdigit() and name.isalnum()
    if is_id or (zone.startswith(region) and zone[len(region) :][-1:].isalpha()):
        return
    yield Problem("zone", f"is not a zone of {region}", f"write it like {region}a")


def instance_type_form(given: Given) -> Iterator[Problem]:
    """An instance type is written family.size; SageMaker's prefix is another product's."""
    name = given.text("instanceType")
    if name is None:
        return
    if name.startswith("ml."):
        yield Problem(
            "instanceType", "is a SageMaker name", f"write the EC2 instance type, {name[3:]}"
        )
        return
    family, _, size = name.partition(".")
    if not (family and size) or not name.replace(".", "").replace("-", "").isalnum():
        yield Problem("instanceType", "is not an instance type", "write it like g6e.xlarge")


def tokens_in_order(given: Given) -> Iterator[Problem]:
    """A 95th percentile is not below the mean."""
    for field in ("promptTokens", "outputTokens"):
        mean, high = given.number(f"{field}.mean"), given.number(f"{field}.p95")
        if mean is not None and high is not None and high < mean:
            yield Problem(
                f"{field}.p95", f"is below the mean ({high} < {mean})", f"give at least {mean}"
            )


def tokens_in_context(given: Given) -> Iterator[Problem]:
    """A mean sequence is not longer than the context; its tail may be cut by the engine."""
    context = given.number("contextLength")
    prompt = given.number("promptTokens.mean") or 0
    output = given.number("outputTokens.mean") or 0
    if context is not None and prompt + output > context:
        yield Problem(
            "contextLength",
            f"is shorter than a mean sequence ({prompt} prompt + {output} output tokens)",
            f"raise it to at least {prompt + output}, or give fewer tokens",
        )


def replicas_in_order(given: Given) -> Iterator[Problem]:
    """There are no fewer replicas at most than at least."""
    least, most = given.number("replicas.min"), given.number("replicas.max")
    if least is not None and most is not None and least > most:
        yield Problem(
            "replicas.max", f"is below min ({most} < {least})", f"give max {least}, or a lower min"
        )


def steady_means_always(given: Given) -> Iterator[Problem]:
    """Steady traffic comes all day and all week."""
    if given.text("traffic.shape") != "steady":
        return
    for key, whole, unit in (
        ("hoursPerDay", WHOLE_DAY, "hours a day"),
        ("daysPerWeek", WHOLE_WEEK, "days a week"),
    ):
        value = given.number(f"traffic.{key}")
        if value is not None and value < whole:
            yield Problem(
                f"traffic.{key}",
                f"steady traffic comes {whole} {unit}, got {value}",
                "give shape scheduled or bursty, or leave this out",
            )


def layout_on_nodes(given: Given) -> Iterator[Problem]:
    """Ranks spread evenly over the declared nodes, experts over the ranks of a stage."""
    sizes = [given.number(name) for name in ("tp", "pp", "dp")]
    nodes, ep = given.number("nodesPerReplica"), given.number("ep")
    if nodes is not None and None not in sizes:
        ranks = int((sizes[0] or 1) * (sizes[1] or 1) * (sizes[2] or 1))
        if ranks % nodes:
            yield Problem(
                "nodesPerReplica",
                f"{ranks} ranks (tp x pp x dp) do not spread evenly over {nodes} nodes",
                "give a number of nodes that divides the ranks",
            )
    if ep is not None and sizes[0] is not None and sizes[2] is not None:
        stage = int(sizes[0] * sizes[2])
        if stage % ep:
            yield Problem(
                "ep",
                f"{ep} does not divide the {stage} ranks of a stage (tp x dp)",
                f"give a divisor of {stage}",
            )


def reservation_has_market(given: Given) -> Iterator[Problem]:
    """Spot capacity is never reserved."""
    if given.has("capacityReservation") and given.text("market") == "spot":
        yield Problem(
            "capacityReservation",
            "spot capacity cannot be reserved",
            "give market on-demand or capacity-block, or leave the reservation out",
        )


def budget_of_kind(given: Given) -> Iterator[Problem]:
    """A service has no runs to pay for."""
    if given.text("kind") == "serving" and given.has("budget.perRun"):
        yield Problem("budget.perRun", "a service has no runs", "use perHour or perMonth")


def engine_settings(given: Given) -> Iterator[Problem]:
    """An engine's version is a number; speculation needs a draft model."""
    from gpusize.versions import parse_version

    version = given.text("engine.version")
    if version is not None and parse_version(version) is None:
        yield Problem(
            "engine.version",
            "is not a released version",
            "write it like 0.20 or 0.19.1; left out, gpusize takes the newest known",
        )
    for key in ("speculativeTokens", "speculativeAcceptance"):
        if given.has(f"engine.{key}") and not given.has("engine.speculative"):
            yield Problem(f"engine.{key}", "needs a draft model", "name it in engine.speculative")


def trainer_version(given: Given) -> Iterator[Problem]:
    """A trainer's version is a number."""
    from gpusize.versions import parse_version

    version = given.text("trainer.version")
    if version is not None and parse_version(version) is None:
        yield Problem(
            "trainer.version",
            "is not a released version",
            "write it like 0.20; left out, gpusize takes the newest known",
        )


def batches_divide(given: Given) -> Iterator[Problem]:
    """A step is whole micro batches."""
    micro, whole = given.number("microBatch") or 1, given.number("globalBatch")
    if whole is not None and whole % micro:
        near = max(micro, whole // micro * micro)
        told = f"{whole} sequences are not whole micro batches of {micro}"
        yield Problem("globalBatch", told, f"give {near}, or another microBatch")


def amount_of_training(given: Given) -> Iterator[Problem]:
    """The length of a run is declared once: tokens, or samples and epochs."""
    if given.has("tokens") and given.has("samples"):
        yield Problem("samples", "stands beside tokens", "give tokens, or samples and epochs")
    elif given.has("epochs") and not given.has("samples"):
        yield Problem("epochs", "needs the samples of one pass", "give samples, or tokens alone")


def method_of_training(given: Given) -> Iterator[Problem]:
    """An adapter belongs to the methods that train one."""
    if given.text("method") == "full" and given.has("adapter"):
        yield Problem("adapter", "method full trains no adapter", "leave it out, or method: lora")


def offload_needs_shards(given: Given) -> Iterator[Problem]:
    """Weights go to the host where each rank keeps a part of them."""
    mode = given.text("sharding.mode")
    if given.text("sharding.offload") == "all" and mode not in (None, "zero-3", "fsdp"):
        told = f"weights are whole on each GPU with {mode}"
        yield Problem("sharding.offload", told, "mode: zero-3 or fsdp, or offload: optimizer")


def states_of_optimizer(given: Given) -> Iterator[Problem]:
    """An 8-bit optimizer has 8-bit moments."""
    word = given.text("optimizer") or ""
    if word.endswith("8bit") and given.has("optimizerPrecision"):
        yield Problem("optimizerPrecision", f"{word} keeps 8-bit moments", "leave it out")


def tags_taken_by_aws(given: Given) -> Iterator[Problem]:
    """AWS limits number, length and prefix of tags."""
    tags = given.value("tags")
    if not isinstance(tags, dict):
        return
    if len(tags) > MAX_TAGS:
        yield Problem(
            "tags", f"{len(tags)} tags are more than AWS takes", f"keep at most {MAX_TAGS}"
        )
    for key, value in tags.items():
        path = f"tags.{key[:MAX_TAG_KEY]}"
        if not 0 < len(key) <= MAX_TAG_KEY:
            yield Problem(
                path, f"a tag's key has 1 to {MAX_TAG_KEY} characters", "choose another key"
            )
        if key.lower().startswith("aws:"):
            yield Problem(path, "aws: is AWS's own prefix", "choose another key")
        if isinstance(value, str) and len(value) > MAX_TAG_VALUE:
            yield Problem(
                path, f"a tag's value has at most {MAX_TAG_VALUE} characters", "shorten it"
            )


def waivers_end(given: Given) -> Iterator[Problem]:
    """A waiver ends on a day of the calendar."""
    from gpusize.days import DAY_FIX, NO_DAY, day_of

    waivers = given.value("waivers")
    for index, waiver in enumerate(waivers if isinstance(waivers, list) else ()):
        expires = waiver.get("expires") if isinstance(waiver, dict) else None
        if not isinstance(expires, str):
            continue
        if day_of(expires) is None:
            yield Problem(f"waivers[{index}].expires", NO_DAY, DAY_FIX)


def inline_attention(given: Given) -> Iterator[Problem]:
    """Heads of an inline architecture divide; partners are declared together."""
    heads, kv_heads = given.number("model.heads"), given.number("model.kvHeads")
    if heads is not None and kv_heads is not None and heads % kv_heads:
        yield Problem(
            "model.kvHeads",
            f"{kv_heads} does not divide the {heads} heads",
            f"give a divisor of {heads}",
        )
    hidden = given.number("model.hidden")
    if heads and hidden is not None and not given.has("model.headDim") and hidden % heads:
        told = f"is missing, and hidden / heads is not whole ({hidden} / {heads})"
        yield Problem("model.headDim", told, "declare it")
    yield from _both(given, "kvLoraRank", "qkRopeHeadDim")
    if given.has("model.slidingLayers") and not given.has("model.slidingWindow"):
        yield Problem("model.slidingWindow", "is missing beside slidingLayers", "give it in tokens")
    yield from _at_most(given, "slidingLayers", "layers")


def inline_counts(given: Given) -> Iterator[Problem]:
    """Counts of an inline architecture do not contradict each other."""
    total, vocab = given.number("model.totalParams"), given.number("model.vocab")
    hidden = given.number("model.hidden")
    if total is not None and vocab is not None and hidden is not None and total < vocab * hidden:
        yield Problem(
            "model.totalParams",
            f"is less than the embedding table alone ({vocab} x {hidden})",
            "count parameters in ones, not in billions",
        )
    yield from _both(given, "expertsTotal", "expertsActive")
    yield from _both(given, "expertsTotal", "moeIntermediate")
    yield from _at_most(given, "expertsActive", "expertsTotal")
    yield from _at_most(given, "activeParams", "totalParams")
    yield from _at_most(given, "visionParams", "totalParams")
    yield from _at_most(given, "firstDenseLayers", "layers")


def picture_sides(given: Given) -> Iterator[Problem]:
    """Latents are eight times smaller than pictures, each way."""
    for key in ("width", "height"):
        side = given.number(key)
        if side is not None and side % LATENT_SCALE:
            nearest = max(1, round(side / LATENT_SCALE)) * LATENT_SCALE
            yield Problem(key, f"{side} is not a multiple of {LATENT_SCALE}", f"give {nearest}")


def one_length(given: Given) -> Iterator[Problem]:
    """A video's length is declared once."""
    frames, seconds = given.has("frames"), given.has("seconds")
    if frames and seconds:
        yield Problem("seconds", "is given beside frames", "keep one of them")
    elif given.text("modality") == "video" and not (
        frames or seconds or given.is_bad("frames") or given.is_bad("seconds")
    ):
        yield Problem("frames", "is missing", "such as frames: 81, or seconds: 5")


def whole_on_each_gpu(given: Given) -> Iterator[Problem]:
    """What generates no tokens runs on each GPU by itself."""
    for key in ("tp", "pp", "ep", "nodesPerReplica"):
        size = given.number(key)
        if size is not None and size > 1:
            yield Problem(
                key,
                "splits work that runs whole on each GPU",
                "leave it out; dp is the number of copies",
            )


def pipeline_by_name(given: Given) -> Iterator[Problem]:
    """The components of a pipeline are in the catalog."""
    if isinstance(given.value("model"), dict):
        yield Problem(
            "model",
            "is an architecture, a pipeline has several",
            "name a pipeline; a catalog overlay adds one",
        )


COMMON: tuple[Relation, ...] = (
    region_form,
    zone_of_region,
    instance_type_form,
    layout_on_nodes,
    reservation_has_market,
    budget_of_kind,
    tags_taken_by_aws,
    waivers_end,
    tokens_in_order,
    tokens_in_context,
    replicas_in_order,
    steady_means_always,
    engine_settings,
    trainer_version,
    batches_divide,
    amount_of_training,
    method_of_training,
    offload_needs_shards,
    states_of_optimizer,
)
INLINE: tuple[Relation, ...] = (inline_attention, inline_counts)
EMBEDDING: tuple[Relation, ...] = (whole_on_each_gpu,)
PICTURES: tuple[Relation, ...] = (
    picture_sides,
    one_length,
    whole_on_each_gpu,
    pipeline_by_name,
)


def relations_of(data: dict[str, Any]) -> tuple[Relation, ...]:
    """The relations that can concern a declaration."""
    if data.get("modality") in ("image", "video"):
        return COMMON + PICTURES
    known = COMMON + EMBEDDING if data.get("modality") == "embedding" else COMMON
    return known + INLINE if isinstance(data.get("model"), dict) else known


def _both(given: Given, first: str, second: str) -> Iterator[Problem]:
    has = {name: given.has(f"model.{name}") for name in (first, second)}
    if has[first] != has[second]:
        missing, there = (second, first) if has[first] else (first, second)
        yield Problem(f"model.{missing}", f"is missing beside {there}", "declare both or none")


def _at_most(given: Given, low: str, high: str) -> Iterator[Problem]:
    less, more = given.number(f"model.{low}"), given.number(f"model.{high}")
    if less is not None and more is not None and less > more:
        yield Problem(f"model.{low}", f"is above {high} ({less} > {more})", f"give at most {more}")


def _is_region(text: str) -> bool:
    *words, number = text.split("-")
    return (
        len(words) >= 2
        and number.isdigit()
        and all(word.isalpha() for word in words)
        and (text == text.lower())
    )
