"""What a resource starts, read from its texts: user data, commands and environments of containers.

`texts` and `script` find processes in a text (`Launch`); `engines` has a table for each engine and
trainer whose options are known; `inferring` makes of them a declaration with its terms
(`Inferred`), `declaring` a workload, and `contradicting` holds it against a declared one. Nothing
is run, and no value of a text leaves this room but the terms that were understood.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gpusize_policies.launched.launch import CONTAINER, USER_DATA, Launch

if TYPE_CHECKING:
    from gpusize_policies.launched.contradicting import contradictions
    from gpusize_policies.launched.declaring import declare
    from gpusize_policies.launched.inferring import Inferred, infer, infer_all

__all__ = [
    "CONTAINER",
    "USER_DATA",
    "Inferred",
    "Launch",
    "contradictions",
    "declare",
    "infer",
    "infer_all",
]

_PLACES = {
    "declare": "declaring",
    "contradictions": "contradicting",
    "Inferred": "inferring",
    "infer": "inferring",
    "infer_all": "inferring",
}
"""Modules of what is imported when it is asked for: few stacks start anything known."""


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import a name from the module that has it."""
        if name not in _PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
