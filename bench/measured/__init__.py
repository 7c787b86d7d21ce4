"""Holds the memory model to runs that somebody measured and published.

    python -m bench.measured CASES_DIR

Only what a user could have declared is given to the model; what was measured is what it is held
to. A row that cannot be predicted is counted with its reason, never dropped in silence.
"""
