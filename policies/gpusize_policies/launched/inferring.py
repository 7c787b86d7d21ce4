"""From processes to declarations: which engine is started, and with which terms."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from gpusize_policies.launched.engines import (
    COMMANDS,
    IMAGES,
    LMI_PREFIX,
    MODULES,
    TELLING,
    lmi,
    ollama,
    tgi,
    training,
)
from gpusize_policies.launched.flags import Assumed, Table, Term, said
from gpusize_policies.launched.launch import Launch
from gpusize_policies.launched.values import version
from gpusize_policies.launched.wrappers import base

MOST = 4
"""Declarations inferred of one resource: it has few GPUs."""
IMAGE = "image"
REQUIREMENT = "pip install"

_PYTHON = re.compile(r"python[\d.]*")
_REQUIREMENT = re.compile(r"(vllm|sglang)(?:\[[\w,-]*\])?==([\w.]+)", re.ASCII)
_BUILD = re.compile(r"(?:^|-)(b\d{4,6})$", re.ASCII)
_PIP = frozenset({"pip", "pip3", "uv"})


class Inferred(NamedTuple):
    """What a process says of the work, term by term."""

    declaration: Mapping[str, Any]
    """In the words of a declaration; region and perhaps contextLength are still missing."""
    terms: tuple[Term, ...]
    assumed: tuple[Assumed, ...]
    unread: tuple[tuple[str, str], ...] = ()
    """Fields, each with the option whose value is not understood."""
    engine: str = ""
    origin: str = ""
    context: int | None = None
    """Tokens of a sequence where nothing says them; None: the model's own limit."""

    def __hash__(self) -> int:
        """Hash by what was read."""
        return hash((self.terms, self.assumed, self.unread, self.engine, self.origin))


def infer(launch: Launch) -> Inferred | None:
    """Return what one process says; None where nothing known is started."""
    return next(iter(infer_all((launch,))), None)


@lru_cache(maxsize=256)
def infer_all(launches: tuple[Launch, ...]) -> tuple[Inferred, ...]:
    """Return what the processes of one machine say, each declaration once."""
    versions = _required(launches)
    found = [one for launch in _together(launches) if (one := _infer(launch, versions))]
    return tuple(dict.fromkeys(found))[:MOST]


def is_known(launch: Launch) -> bool:
    """Tell whether a process says something: an engine, or the version that is installed."""
    return _recognized(launch) is not None or bool(_required((launch,)))


def _together(launches: tuple[Launch, ...]) -> tuple[Launch, ...]:
    """Put the server of Ollama together with the models that are run on it."""
    mine = [one for one in launches if _is_ollama(one)]
    if len(mine) < len(("serve", "run")):
        return launches
    env: dict[str, str] = {}
    for one in mine:
        env.update(one.env)
    runs = [one for one in mine if len(_ollama_words(one)) > len(("run",))] or mine[:1]
    last = tuple(dict.fromkeys(one._replace(env=env, image="") for one in runs))
    return (*(one for one in launches if one not in mine), *last)


def _is_ollama(launch: Launch) -> bool:
    found = _recognized(launch)
    return found is not None and found[0] is ollama.TABLE


def _ollama_words(launch: Launch) -> tuple[str, ...]:
    words = _without_folder(launch.argv)
    return words[1:] if words[:1] == ("ollama",) else words


def _without_folder(words: tuple[str, ...]) -> tuple[str, ...]:
    """Name a command without its folder."""
    return (base(words[0]), *words[1:]) if words else ()


def _recognized(launch: Launch) -> tuple[Table, tuple[str, ...]] | None:
    """Return the table of the engine that is started, and its options."""
    words = _without_folder(launch.argv)
    for count in (2, 1):
        table = COMMANDS.get(words[:count])
        if table is not None:
            return table, words[count:] if table is not training.TRL else words[1:]
    if words and _PYTHON.fullmatch(words[0]) and "-m" in words[:4]:
        at = words.index("-m") + 1
        table = MODULES.get(words[at]) if at < len(words) else None
        return (table, words[at + 1 :]) if table is not None else None
    return _by_image(launch) or _by_environment(launch)


def _by_image(launch: Launch) -> tuple[Table, tuple[str, ...]] | None:
    name = _repository(launch.image)
    words = launch.argv
    for end, (table, before) in IMAGES.items():
        if name == end or name.endswith(f"/{end}"):
            if words[:1] and (words[0] in before or words[0] == "serve"):
                words = words[1:]
            elif words[:1] and not words[0].startswith("-") and not _is_positional(table, words[0]):
                return None
            return table, words
    return None


def _is_positional(table: Table, word: str) -> bool:
    """Tell a model from a command that an image runs in place of its own."""
    return bool(table.positional) and "/" in word and not word.startswith("/")


def _by_environment(launch: Launch) -> tuple[Table, tuple[str, ...]] | None:
    """A model server of SageMaker whose image says nothing, by the variables that it reads."""
    if not TELLING & set(launch.env) or (launch.argv and launch.argv[0] != "serve"):
        return None
    is_lmi = any(name.startswith(LMI_PREFIX) for name in launch.env)
    return (lmi.TABLE if is_lmi else tgi.TABLE), ()


def _repository(image: str) -> str:
    """Return an image's name without tag and digest."""
    name = image.partition("@")[0]
    head, slash, last = name.rpartition("/")
    return head + slash + last.partition(":")[0]


def _infer(launch: Launch, versions: Mapping[str, tuple[str, str]]) -> Inferred | None:
    recognized = _recognized(launch)
    if recognized is None:
        return None
    table, words = recognized
    found = said(table, words, launch.env)
    table.finish(found)
    is_training = table.base["kind"] == "fine-tuning"
    if is_training and "model" not in found.terms:
        return None
    if "model" not in found.terms:
        found.unread.setdefault("model", "not named")
    if is_training:
        training.by_script(words, found)
    for field in found.unread:
        found.terms.pop(field, None)
    engine = str(found.value("engine.name") or table.base.get("engine.name", ""))
    told = _version(launch, engine, versions)
    if told is not None and table is not lmi.TABLE:
        found.terms["engine.version"] = told
    fields_said = sorted(found.terms, key=lambda field: (field != "model", field))
    terms = tuple(found.terms[field] for field in fields_said)
    assumed = tuple(one for one in table.assumed if one.field not in found.terms)
    fields = {**table.base, **{one.field: one.value for one in assumed if one.value is not None}}
    fields.update({term.field: term.value for term in terms if term.value is not None})
    return Inferred(
        _nested(fields),
        terms,
        assumed,
        tuple(sorted(found.unread.items())),
        table.name,
        launch.origin,
        table.context,
    )


def _nested(fields: Mapping[str, object]) -> dict[str, Any]:
    """Turn paths into groups: `engine.name` into `{engine: {name: …}}`."""
    found: dict[str, Any] = {}
    for path, value in fields.items():
        group, dot, name = path.partition(".")
        if dot:
            found.setdefault(group, {})[name] = value
        else:
            found[path] = value
    return found


def _version(launch: Launch, engine: str, versions: Mapping[str, tuple[str, str]]) -> Term | None:
    """Return the engine's version by the image's tag, else by what was installed."""
    tag = launch.image.partition("@")[0].rpartition("/")[2].partition(":")[2]
    build = _BUILD.search(tag)
    if engine == "llama.cpp":
        return Term("engine.version", build.group(1), IMAGE) if build else None
    tagged = version(tag)
    if tagged is not None and engine:
        return Term("engine.version", tagged, IMAGE)
    installed = versions.get(engine)
    return Term("engine.version", *installed) if installed else None


def _required(launches: Iterable[Launch]) -> dict[str, tuple[str, str]]:
    """Return the versions that `pip install` asks for, with what says them."""
    found: dict[str, tuple[str, str]] = {}
    for launch in launches:
        words = _without_folder(launch.argv)
        if words[:1] and (words[0] in _PIP or "pip" in words[:4]):
            for word in launch.argv:
                match = _REQUIREMENT.fullmatch(word)
                exact = version(match.group(2)) if match else None
                if match is not None and exact is not None:
                    found[match.group(1)] = (exact, REQUIREMENT)
    return found
