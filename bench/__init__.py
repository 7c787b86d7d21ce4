"""Speed against a bare interpreter, peers and empty policy packs, side by side in one run."""
