"""Writers of findings, one format per module."""
