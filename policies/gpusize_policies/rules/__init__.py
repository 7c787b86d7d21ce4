"""The rules, one module per topic."""
