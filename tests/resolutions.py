"""Resolutions that tests share: an equal question to the same catalog is worked out once."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from gpusize.resolution import Resolution
from gpusize.resolve import resolve
from gpusize.settings import DEFAULTS, ResolveSettings
from gpusize.workload import Workload
from gpusize_catalog.store import Catalog

KEPT = 64
"""Resolutions that are remembered: tests of one case follow each other."""


class Question:
    """What is resolved, equal where class, fields and catalog are."""

    def __init__(self, workload: Workload, catalog: Catalog, how: tuple[Any, ...]) -> None:
        """Keep what is asked; the catalog too, so that its identity stays its own."""
        self.workload, self.catalog, self.how = workload, catalog, how
        self.key = (type(workload), workload.model_dump_json(), id(catalog), repr(how))

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Question) and self.key == other.key


@contextmanager
def shared() -> Iterator[None]:
    """Answer equal questions once: `resolve` is pure but for the files of models, not kept here."""

    @lru_cache(maxsize=KEPT)
    def answer(question: Question) -> Resolution:
        today, name, settings = question.how
        return resolve(
            question.workload, question.catalog, today=today, name=name, settings=settings
        )

    def ask(
        workload: Workload,
        catalog: Catalog,
        *,
        today: datetime.date,
        name: str = "",
        settings: ResolveSettings = DEFAULTS,
        base_dir: Path | None = None,
        **more: Any,
    ) -> Resolution:
        model = workload.model
        is_file = isinstance(model, str) and catalog.find_model(model) is None
        if more or is_file:
            return resolve(
                workload,
                catalog,
                today=today,
                name=name,
                settings=settings,
                base_dir=base_dir,
                **more,
            )
        return answer(Question(workload, catalog, (today, name, settings)))

    with patch("gpusize.resolve.resolve", ask):
        yield
