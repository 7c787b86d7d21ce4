"""GPUs as rows name them."""

from __future__ import annotations

import re

GPUS = (
    (r"gb300", "GB300"),
    (r"gb200", "GB200"),
    (r"b300", "B300"),
    (r"b200", "B200"),
    (r"h200.?nvl", "H200-NVL"),
    (r"gh200|h100.*96", "GH200"),
    (r"h200", "H200"),
    (r"h100.?nvl", "H100-NVL"),
    (r"h100.?pcie", "H100-PCIE"),
    (r"h[18]00", "H100"),
    (r"h20\b", "H20"),
    (r"a[18]00.*40", "A100-40GB"),
    (r"a[18]00", "A100-80GB"),
    (r"rtx ?pro ?6000|rtx6000pro", "RTX-PRO-6000-SE"),
    (r"rtx ?6000 ?-?ada", "RTX6000-ADA"),
    (r"l40s", "L40S"),
    (r"l40\b", "L40"),
    (r"\bl4\b", "L4"),
    (r"a10g", "A10G"),
    (r"a10\b", "A10"),
    (r"a30\b", "A30"),
    (r"a40\b", "A40"),
    (r"a6000", "A6000"),
    (r"rtx ?3090", "RTX3090"),
    (r"rtx ?4090", "RTX4090"),
    (r"rtx ?5090", "RTX5090"),
    (r"\bt4", "T4"),
    (r"v100.*32", "V100-32GB"),
    (r"v100.*16", "V100-16GB"),
)
"""The first that is found in a name, in lower case."""


def gpu_id(name: str | None) -> str | None:
    """The catalog's name of a GPU; None where it has none."""
    lower = (name or "").lower()
    return next((one for pattern, one in GPUS if re.search(pattern, lower)), None)
