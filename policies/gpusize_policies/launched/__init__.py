"""What a resource starts, read from its texts: user data, commands and environments of containers.

`texts` and `script` find processes in a text (`Launch`); `engines` has a table for each engine and
trainer whose options are known; `inferring` makes of them a declaration with its terms
(`Inferred`), `declaring` a workload, and `differing` holds it against a declared one. Nothing is
run, and no value of a text leaves this room but the terms that were understood.
"""

from __future__ import annotations

from gpusize_policies.launched.flags import Assumed, Term
from gpusize_policies.launched.inferring import Inferred, infer, infer_all
from gpusize_policies.launched.launch import CONTAINER, USER_DATA, Launch, may_launch

__all__ = [
    "CONTAINER",
    "USER_DATA",
    "Assumed",
    "Inferred",
    "Launch",
    "Term",
    "infer",
    "infer_all",
    "may_launch",
]
