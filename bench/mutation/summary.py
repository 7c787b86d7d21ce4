"""What a run found, as text and as data."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from bench.mutation.mutants import Change, Mutant

LEAST_SHARE = 0.85
"""Part of the changes that tests have to notice."""


class Outcome(NamedTuple):
    """What became of one change."""

    mutant: Mutant
    killed: bool
    change: Change


class Found(NamedTuple):
    """One group: what was run, and how many changes there are and were left out."""

    outcomes: tuple[Outcome, ...]
    mutants: int
    left_out: dict[str, int]
    """By reason."""

    @property
    def killed(self) -> int:
        """Changes that a test noticed."""
        return sum(one.killed for one in self.outcomes)

    @property
    def share(self) -> float:
        """Part of the changes that were noticed; 1 where none was made."""
        return self.killed / len(self.outcomes) if self.outcomes else 1.0

    @property
    def modules(self) -> dict[str, tuple[int, int]]:
        """Noticed changes and all that were made, of each module."""
        every = Counter(one.mutant.path for one in self.outcomes)
        killed = Counter(one.mutant.path for one in self.outcomes if one.killed)
        return {path: (killed[path], every[path]) for path in sorted(every)}

    @property
    def survivors(self) -> tuple[Outcome, ...]:
        """Changes that no test noticed, in the order of the modules."""
        return tuple(sorted([one for one in self.outcomes if not one.killed]))


def to_text(name: str, found: Found) -> str:
    """A group for people."""
    lines = [
        f"## {name}: {found.killed} of {len(found.outcomes)} killed ({found.share:.0%}), "
        f"of {found.mutants} mutants"
    ]
    lines += [f"    {path}: {of[0]} of {of[1]}" for path, of in found.modules.items()]
    lines += [f"    left out {count}: {why}" for why, count in sorted(found.left_out.items())]
    for one in found.survivors:
        lines += [
            f"  {one.mutant.path}:{one.mutant.line} survived {one.mutant.operator}",
            *[f"    - {line}" for line in one.change.was.splitlines()],
            *[f"    + {line}" for line in one.change.becomes.splitlines()],
        ]
    return "\n".join(lines) + "\n"


def to_data(found: Found) -> dict[str, Any]:
    """A group for programs."""
    return {
        "killed": found.killed,
        "survived": len(found.outcomes) - found.killed,
        "share": round(found.share, 4),
        "mutants": found.mutants,
        "leftOut": found.left_out,
        "modules": {
            path: {"killed": killed, "survived": every - killed}
            for path, (killed, every) in found.modules.items()
        },
        "survivors": [
            {
                "path": one.mutant.path,
                "line": one.mutant.line,
                "operator": one.mutant.operator,
                "was": one.change.was,
                "becomes": one.change.becomes,
            }
            for one in found.survivors
        ],
    }
