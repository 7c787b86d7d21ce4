"""What a placement costs for as long as it was declared to run; unknown is a value, never 0."""

from __future__ import annotations

from gpusize.pricing.blocks import block_hours
from gpusize.pricing.commitments import Commitment
from gpusize.pricing.quotes import Quote, least, quote
from gpusize.pricing.till import Cost, Till

__all__ = ["Commitment", "Cost", "Quote", "Till", "block_hours", "least", "quote"]
