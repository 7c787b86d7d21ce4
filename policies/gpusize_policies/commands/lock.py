"""`gpusize lock`: keep decisions, so that a newer catalog does not change them."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gpusize.wording import counted
from gpusize_catalog.problems import Problem
from gpusize_policies.commands.emit import emit, tell, write_whole
from gpusize_policies.commands.options import Parser, add_settings, given

if TYPE_CHECKING:
    from gpusize.documents import Document
    from gpusize.lock import Entry
    from gpusize_policies.inputs import Context

EXIT_CLEAN, EXIT_NO_PLAN = 0, 1

EXAMPLES = """\
  gpusize lock gpusize.yaml                decide, and write gpusize.lock beside the file
  pulumi stack export > stack.json
  gpusize lock stack.json                  keep what is deployed
"""


def parser() -> Parser:
    """Describe the options."""
    made = Parser(
        "lock",
        "Keep the decision on each workload of a file of declarations, or those that a stack\n"
        "export shows as deployed. Entries of other workloads stay. Exits 1, and writes nothing,\n"
        "when a workload has no plan.",
        EXAMPLES,
    )
    made.add_argument(
        "file", metavar="FILE", type=given, help="declarations, or a stack export; - reads input"
    )
    made.add_argument(
        "--lock",
        metavar="FILE",
        type=given,
        help="file to write (default: gpusize.lock beside FILE)",
    )
    add_settings(made)
    return made


def run(options: Namespace) -> int:
    """Decide and write."""
    from gpusize.documents import read
    from gpusize.lock import held, read_lock, render
    from gpusize_policies.commands.session import open_session
    from gpusize_policies.inputs import lock_beside
    from gpusize_policies.stack import MAX_BYTES, entries, is_export

    context = open_session(options)
    path = Path(options.lock) if options.lock else lock_beside(options.file, context.settings)
    before = read_lock(path)
    document = read(options.file, MAX_BYTES)
    if is_export(document.data):
        found = entries(document, context.today, context.catalog)
    else:
        found, hopeless = _decided(document, context)
        if hopeless:
            tell(hopeless)
            return EXIT_NO_PLAN
    with held(path):  # another run may have written since
        write_whole(path, render({**read_lock(path), **found}))
    emit("".join(_line(name, entry, before.get(name)) for name, entry in found.items()))
    return EXIT_CLEAN


def _decided(document: Document, context: Context) -> tuple[dict[str, Entry], list[Problem]]:
    from gpusize.lock import entry_of
    from gpusize_policies.inputs import cases, declared

    found: dict[str, Entry] = {}
    hopeless: list[Problem] = []
    workloads = declared(document, context.catalog)
    for case in cases(workloads, context._replace(use_lock=False)):
        entry = entry_of(case.resolution) if case.resolution else None
        if entry is None:
            problem = Problem(
                case.subject.path, "has no plan", "`gpusize check` says why; nothing was written"
            )
            hopeless.append(document.locate(problem))
        else:
            found[case.name] = entry
    return found, hopeless


def _line(name: str, entry: Entry, before: Entry | None) -> str:
    word = "kept" if before is None else "changed"
    if before is not None and _decision(before) == _decision(entry):
        word = "unchanged"
    return f"{name}: {word}, {counted(entry.nodes, entry.instance_type)} {entry.market}\n"


def _decision(entry: Entry) -> tuple[object, ...]:
    return entry.instance_type, entry.nodes, entry.layout, entry.market
