"""What codes and names of a team's own rules look like."""

from __future__ import annotations

import re

CODE = re.compile(r"(?!GPU)[A-Z]{2,12}[0-9]{3,4}")
CODE_FORM = "letters and three digits, such as TEAM001; GPU is the product's"
NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)+")
NAME_FORM = "words in small letters joined by hyphens, such as gpu-ceiling"
LONGEST_WORD = 60
"""Characters of a name."""
RESERVED = ("all", "gpusize-settings", "custom-rule")
"""Names that the policy pack has itself."""
PAGE = "docs/custom-rules.md"
"""Where all of it is documented."""
