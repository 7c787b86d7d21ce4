"""The baseline of one run: what it accepts, what became worse, and what is gone.

Waivers come first: what one accepts needs no baseline, and is not written into it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from gpusize_policies.baseline import (
    Baseline,
    Entry,
    Key,
    Target,
    key_of,
    may_hold,
    render,
    target_of,
)
from gpusize_policies.finding import Finding, Severity, Subject
from gpusize_policies.judge import CANNOT_EVALUATE


def source_of(file: str, baseline: Baseline) -> str:
    """Name a file from where the baseline lies, so that the place of a checkout is not in it."""
    if file in ("", "-") or baseline.file is None:
        return file
    return Path(os.path.relpath(file, baseline.file.parent)).as_posix()


class Worse(NamedTuple):
    """A finding that its entry does not accept."""

    entry: Entry
    severity: Severity
    """What it is now."""


class Baselining:
    """Marks the findings of a run that were there before, and remembers what was found."""

    def __init__(self, baseline: Baseline) -> None:
        """Begin a run with what was written down."""
        self.baseline = baseline
        self.worse: dict[Key, Worse] = {}
        self._found: dict[Key, Entry] = {}
        self._waived: set[Key] = set()
        self._asked: dict[Target, frozenset[str]] = {}
        """Codes of the rules that were asked, by what they were asked about."""
        self._open: set[Target] = set()
        """Of what something was not known, so that rules may speak later."""

    @property
    def is_used(self) -> bool:
        """Whether there is anything to do."""
        return bool(self.baseline.entries) or self.baseline.is_open

    def over(
        self, subject: Subject, findings: tuple[Finding, ...], codes: frozenset[str]
    ) -> tuple[Finding, ...]:
        """Mark the findings on a subject that were there before; `codes` are the rules asked."""
        if not self.is_used:
            return findings
        target = target_of(subject)
        self._asked[target] = self._asked.get(target, frozenset()) | codes
        if any(one.code == CANNOT_EVALUATE for one in findings):
            self._open.add(target)
        return tuple(self._marked(one, subject) for one in findings)

    def _marked(self, finding: Finding, subject: Subject) -> Finding:
        key = key_of(finding)
        entry = self.baseline.entries.get(key)
        if not may_hold(finding):
            if finding.waived_by:
                self._waived.add(key)
            return finding
        known = self._found.get(key)
        if known is None or finding.severity.rank < known.severity.rank:
            source = source_of(subject.file, self.baseline)
            self._found[key] = Entry(key, finding.severity, source)
        if self.has(finding):
            return finding._replace(in_baseline=True)
        if entry is not None:
            self.worse[key] = Worse(entry, finding.severity)
        return finding

    def has(self, finding: Finding) -> bool:
        """Tell whether a finding was there before, and is no worse."""
        entry = self.baseline.entries.get(key_of(finding))
        is_as_mild = entry is not None and finding.severity.rank >= entry.severity.rank
        return may_hold(finding) and (self.baseline.is_open or is_as_mild)

    def gone(self, sources: Iterable[str]) -> tuple[Entry, ...]:
        """Return what matches nothing any more; `sources` are what was judged as a whole."""
        if self.baseline.is_open:
            return ()
        judged = frozenset(sources)
        return tuple(one for one in self.baseline.entries.values() if self._is_gone(one, judged))

    def _is_gone(self, entry: Entry, sources: frozenset[str]) -> bool:
        target = entry.key.target
        if entry.key in self._found or entry.key in self._waived or target in self._open:
            return False
        if target in self._asked:
            return entry.key.code in self._asked[target]
        return bool(entry.source) and entry.source in sources

    def written(self, sources: Iterable[str], source: str = "") -> tuple[Entry, ...]:
        """Return what a new file has: all that was found, and what this run did not judge.

        `source` names the run where its subjects lie in no file. An entry keeps the source that it
        has where this run is another one: what several stacks have is told by one of them.
        """
        judged = frozenset(sources)
        kept = {
            key: entry
            for key, entry in self.baseline.entries.items()
            if key not in self._waived and not self._is_gone(entry, judged)
        }
        for key, entry in self._found.items():
            old = kept[key].source if key in kept else ""
            new = entry.source or source
            kept[key] = entry._replace(source=old if old and old not in judged else new)
        return tuple(kept.values())

    def text(self, sources: Iterable[str], source: str = "") -> tuple[str, int]:
        """Return the text of a new file and the number of its findings."""
        entries = self.written(sources, source)
        return render(entries), len(entries)
