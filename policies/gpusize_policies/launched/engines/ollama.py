"""What is said of Ollama: the model that is run or pulled, and its environment."""

from __future__ import annotations

import re

from gpusize_policies.launched.flags import Assumed, Flag, Said, Table, Term
from gpusize_policies.launched.values import LONGEST_NAME, SILENT, one_of, unless, whole

LIBRARY = re.compile(r"(?:registry\.)?ollama\.(?:ai|com)/library/|library/", re.ASCII)
"""Where a name without an owner lies (Ollama, types/model/name.go)."""
LATEST = ":latest"
"""The tag of a name that has none (the same)."""
CONTEXT = 4096
"""Tokens of a sequence on GPUs of less than 24 GiB in all, the fewest that Ollama takes by itself
(docs/faq.mdx; server/routes.go)."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*(?::[A-Za-z0-9][\w.-]*)?", re.ASCII)


def library(text: str) -> str | None:
    """Read a name of the library, `llama3.1:8b`; the tag is `latest` where none is given."""
    name = LIBRARY.sub("", text, count=1) if LIBRARY.match(text) else text
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        return None
    return name if ":" in name else name + LATEST


FLAGS = (
    Flag("model", (), library),
    Flag(
        "contextLength",
        (),
        unless(("0",), whole),
        env=("OLLAMA_CONTEXT_LENGTH",),
    ),
    Flag("concurrency", (), unless(("0",), whole), env=("OLLAMA_NUM_PARALLEL",)),
    Flag(
        "kvCacheFormat",
        (),
        one_of({"f16": SILENT, "q8_0": "q8_0", "q4_0": "q4_0"}),
        env=("OLLAMA_KV_CACHE_TYPE",),
    ),
)


def finish(found: Said) -> None:
    """Say the sources as a user wrote them."""
    term = found.terms.get("model")
    if term is not None:
        found.terms["model"] = Term("model", term.value, "ollama run")


TABLE = Table(
    name="Ollama",
    base={"kind": "serving", "engine.name": "ollama"},
    flags=FLAGS,
    assumed=(
        Assumed("contextLength", CONTEXT, "the fewest tokens that Ollama takes by itself"),
        Assumed("concurrency", 1, "Ollama's default"),
    ),
    sources="envconfig/config.go and docs/faq.mdx of Ollama v0.12",
    finish=finish,
    context=CONTEXT,
    positional="model",
)
