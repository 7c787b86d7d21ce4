"""What a run works with: settings, catalog and date, from options and files."""

from __future__ import annotations

import datetime
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from gpusize.environments import Where
from gpusize.project import SETTINGS_FILE
from gpusize_catalog.problems import GpuSizeError, Problem
from gpusize_policies.inputs import Context
from gpusize_policies.settings import DEFAULTS, Settings

if TYPE_CHECKING:
    from gpusize_catalog.store import Catalog


def open_session(options: Namespace) -> Context:
    """Load settings and catalog; raises GpuSizeError with the problems of both."""
    settings = load_settings(options)
    today = settings.today
    if options.today:
        today = read_date(options.today)
    catalog = load_catalog(options, settings)
    return Context(catalog, settings, today or datetime.date.today())


def load_settings(options: Namespace) -> Settings:
    """Read the named settings, or those of this folder; the option `--strict` sets the preset."""
    settings = DEFAULTS
    path = options.settings or (SETTINGS_FILE if Path(SETTINGS_FILE).is_file() else "")
    if path:
        from gpusize_policies.settings_file import load

        settings = load(path)
    settings = _placed(settings, options)
    return settings._replace(preset="strict") if getattr(options, "strict", False) else settings


def _placed(settings: Settings, options: Namespace) -> Settings:
    """Take in what holds for the stack or the environment that the options name."""
    environment = getattr(options, "environment", None) or ""
    if environment and all(one.name != environment for one in settings.environments):
        from gpusize.settings_file import guess

        names = {one.name: one for one in settings.environments}
        fix = guess(environment, names) if names else "the settings have none"
        raise GpuSizeError([Problem("--environment", "no such environment", fix)])
    return settings.at(Where(getattr(options, "stack", None) or "", environment=environment))


def load_catalog(options: Namespace, settings: Settings = DEFAULTS) -> Catalog:
    """Load the shipped catalog with the overlays of the settings and of the options."""
    from gpusize_catalog.store import load

    return load((*settings.catalog, *(Path(folder) for folder in options.catalog)))


def read_date(text: str) -> datetime.date:
    """Read the option `--today`."""
    from gpusize.days import DAY_FIX, NO_DAY, day_of

    day = day_of(text)
    if day is None:
        raise GpuSizeError([Problem("--today", NO_DAY, DAY_FIX)])
    return day
