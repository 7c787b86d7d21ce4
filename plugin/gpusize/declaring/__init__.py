"""From a declaration to a workload: keys, values, relations, and what is said of mistakes."""
