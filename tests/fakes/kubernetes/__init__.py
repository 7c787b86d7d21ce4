"""A stand-in for the kubernetes provider: no cluster, no network."""
