"""`gpusize catalog`: show what is known of one id, and search."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from gpusize.names import to_camel
from gpusize_catalog.problems import GpuSizeError, Problem, printable
from gpusize_policies.commands.emit import emit
from gpusize_policies.commands.options import Parser, add_catalog, add_output, given

if TYPE_CHECKING:
    from gpusize_catalog.store import Catalog

ACTIONS = ("show", "search")
SEARCHED_TABLES = ("instances", "gpus", "models", "engines", "formats", "regions", "billing")
LONGEST_WORD = 60
"""Characters of an unknown id that a message repeats."""
DEFAULT_REGION = "us-east-1"
"""Region of the prices shown: where most list prices are known."""
SUGGESTIONS = 3
CODED = ("gpus", "instances")
CODES = "of confidence, source and crossCheckedWith: catalog/gpusize_catalog/SOURCES.md"
"""Where the letters in the fields of these tables are explained."""

EXAMPLES = """\
  gpusize catalog show g6e.xlarge
  gpusize catalog show L40S
  gpusize catalog show meta-llama/Llama-3.1-70B-Instruct --format json
  gpusize catalog search 8 x h100
"""


def parser() -> Parser:
    """Describe the options."""
    made = Parser(
        "catalog",
        "Show everything known of one id (instance type, GPU, model, alias or pipeline,\n"
        "engine, format, region, purchase option), or search for ids.",
        EXAMPLES,
    )
    made.add_argument("action", choices=ACTIONS, help="show one id, or search for words")
    made.add_argument(
        "words", metavar="ID|WORD", type=given, nargs="+", help="the id, or words to search for"
    )
    made.add_argument(
        "--region", default=DEFAULT_REGION, help=f"of the prices shown (default: {DEFAULT_REGION})"
    )
    add_catalog(made)
    add_output(made)
    return made


def run(options: Namespace) -> int:
    """Show or search."""
    from gpusize_policies.commands.session import load_catalog

    catalog = load_catalog(options)
    if options.action == "show":
        _known_region(options.region, catalog)
        entries = [entry for word in options.words for entry in _show(word, options, catalog)]
        emit(_WRITERS[options.format](entries), options.output)
        return 0
    found = catalog.search(" ".join(options.words))
    emit(_found(found, options.format), options.output)
    return 0 if found else 1


def _known_region(code: str, catalog: Catalog) -> None:
    if catalog.region(code) is None:
        close = catalog.suggest("regions", code)
        fix = f"did you mean {' or '.join(close)}?" if close else "write it like us-east-1"
        raise GpuSizeError([Problem("--region", "is no region of the catalog", fix)])


def _show(word: str, options: Namespace, catalog: Catalog) -> list[dict[str, Any]]:
    entries = list(lookup(word, catalog, options.region))
    if entries:
        return entries
    shown = printable(word, LONGEST_WORD)
    close = _close(word, catalog)
    fix = f"did you mean {' or '.join(close)}?" if close else "try `gpusize catalog search`"
    raise GpuSizeError([Problem("", f"nothing in the catalog has the id '{shown}'", fix)])


def lookup(word: str, catalog: Catalog, region: str) -> Iterator[dict[str, Any]]:
    """Find an id in every table that has such ids."""
    instance = catalog.find_instance(word)
    if instance is not None:
        yield {"table": "instances", **_plain(instance), **_market(word, region, catalog)}
    for gpu in catalog.gpus():
        if gpu.id.lower() == word.lower():
            yield {"table": "gpus", **_plain(gpu)}
    if catalog.find_model(word) is not None:
        model, assumed = catalog.model_match(word)
        yield {"table": "models", **({"assumed": assumed} if assumed else {}), **_plain(model)}
    pipeline = catalog.pipeline_id(word)
    for part in catalog.components(pipeline) if pipeline else ():
        yield {"table": "diffusion_components", **_plain(part)}
    for engine in catalog.engines(word):
        yield {"table": "engines", **_plain(engine)}
    one_row = {
        "formats": catalog.format(word),
        "regions": catalog.region(word),
        "billing": catalog.billing(word),
    }
    for table, row in one_row.items():
        if row is not None:
            yield {"table": table, **_plain(row)}


def _market(instance: str, region: str, catalog: Catalog) -> dict[str, Any]:
    from gpusize_catalog.facts import PriceType
    from gpusize_catalog.prices import ANY_DAY, in_force

    offering = catalog.offering(instance, region)
    prices = [
        {
            "priceType": kind.value,
            "usd": newest.usd,
            "unit": newest.unit,
            "date": newest.date,
            "source": newest.source,
        }
        for kind in PriceType
        for newest in in_force(catalog.prices(instance, region, kind), ANY_DAY, catalog.is_own)[:1]
    ]
    return {
        "regions": list(catalog.regions_of(instance)),
        "region": region,
        "zones": list(offering.zones) if offering else None,
        "prices": prices,
    }


def _plain(row: Any) -> dict[str, Any]:
    return {to_camel(name): _value(value) for name, value in row._asdict().items()}


def _value(value: Any) -> Any:
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, tuple):
        return [_value(item) for item in value]
    return getattr(value, "value", value)


def _close(word: str, catalog: Catalog) -> list[str]:
    from difflib import SequenceMatcher

    names = {name for table in SEARCHED_TABLES for name in catalog.suggest(table, word)}

    def likeness(name: str) -> float:
        return SequenceMatcher(None, name.lower(), word.lower()).ratio()

    return sorted(names, key=lambda name: (-likeness(name), name))[:SUGGESTIONS]


def _text(entries: list[dict[str, Any]]) -> str:
    return "\n".join("".join(f"{line}\n" for line in _lines(entry)) for entry in entries)


def _lines(entry: Mapping[str, Any]) -> Iterator[str]:
    absent = _not_applicable(entry)
    unknown = [name for name, value in entry.items() if value is None and name not in absent]
    shown = {name: value for name, value in entry.items() if value not in (None, "", [])}
    width = max(len(name) for name in shown)
    for name, value in shown.items():
        if name == "prices":
            for price in value:
                amount = "unknown" if price["usd"] is None else f"{price['usd']:g} USD"
                kind, unit, date = price["priceType"], price["unit"], price["date"]
                yield f"{'price'.ljust(width)}  {kind}: {amount} {unit}, {date}"
        else:
            yield f"{name.ljust(width)}  {_words(name, value)}"
    if absent:
        yield f"{'-'.ljust(width)}  does not apply: {', '.join(absent)}"
    if unknown:
        yield f"{'not known'.ljust(width)}  {', '.join(unknown)}"
    if entry["table"] in CODED:
        yield f"{'codes'.ljust(width)}  {CODES}"


def _not_applicable(entry: Mapping[str, Any]) -> list[str]:
    """Name the empty fields that an entry of its kind cannot have: nothing is missing there."""
    absent = {
        name
        for has, names in PARTS.get(entry["table"], {}).items()
        if not HAS[has](entry)
        for name in names
    }
    return [name for name, value in entry.items() if value is None and name in absent]


def _layers(entry: Mapping[str, Any]) -> str:
    return f"{entry['attentionKind']} {entry['layerPattern']}"


HAS: dict[str, Callable[[Mapping[str, Any]], bool]] = {
    "experts": lambda entry: entry["expertsTotal"] is not None,
    "latent attention": lambda entry: "mla" in _layers(entry) or "indexed" in _layers(entry),
    "window layers": lambda entry: any(kind in _layers(entry) for kind in ("sliding", "chunked")),
    "recurrent layers": lambda entry: any(kind in _layers(entry) for kind in ("linear", "mamba")),
    "encoder": lambda entry: any(kind in _layers(entry) for kind in ("encoder-decoder", "cross")),
    "images or sound": lambda entry: entry["modality"] in ("vision-language", "audio"),
    "fp8": lambda entry: bool(entry["nativeFp8"]),
    "fp4": lambda entry: bool(entry["nativeFp4"]),
    "link": lambda entry: entry["formFactor"] != "PCIe",
    "joined GPUs": lambda entry: entry["interconnect"] not in ("single", "pcie"),
    "several GPUs": lambda entry: entry["gpus"] != 1,
    "EFA": lambda entry: bool(entry["efa"]),
}
"""Whether an entry has a part."""
PARTS: dict[str, dict[str, tuple[str, ...]]] = {
    "models": {
        "experts": (
            "expertsTotal",
            "expertsActive",
            "sharedExperts",
            "moeIntermediate",
            "firstDenseLayers",
        ),
        "latent attention": ("kvLoraRank", "qkRopeHeadDim", "qLoraRank"),
        "window layers": ("slidingWindow", "fullKvHeads", "fullHeadDim"),
        "recurrent layers": ("stateElements", "convElements"),
        "encoder": ("encoderLayers", "encoderPositions"),
        "images or sound": ("visionParams", "imagePatches"),
    },
    "gpus": {"fp8": ("fp8Flops",), "fp4": ("fp4Flops",), "link": ("nvlinkBandwidth",)},
    "instances": {
        "joined GPUs": ("interconnectBandwidth",),
        "several GPUs": ("p2p",),
        "EFA": ("efaInterfaces",),
    },
}
"""By table, the fields that belong to a part: without it they do not apply."""


def _words(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (int, float)):
        return _number(name, value)
    if isinstance(value, list):
        separator = "." if name == "computeCapability" else ", "
        return separator.join(str(item) for item in value)
    return str(value)


def _number(name: str, value: float) -> str:
    from gpusize_catalog.units import GIB, GIGA, TERA, gib

    if name.endswith("Bytes"):
        return gib(value) if value >= GIB / 10 or not value else f"{value} bytes"
    if "Bandwidth" in name:
        return f"{value / GIGA:g} GB/s"
    if name.endswith(("Flops", "Ops")):
        return f"{value / TERA:g} T/s"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _json(entries: list[dict[str, Any]]) -> str:
    import json

    return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"


_WRITERS = {"text": _text, "json": _json}


def _found(found: list[tuple[str, str, str]], form: str) -> str:
    if form == "json":
        return _json([{"table": table, "id": name, "summary": text} for table, name, text in found])
    if not found:
        return "nothing found\n"
    width = max(len(name) for _, name, _ in found)
    return "".join(f"{table:<13}  {name.ljust(width)}  {text}\n" for table, name, text in found)
