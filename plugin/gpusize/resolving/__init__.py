"""The search behind `gpusize.resolve`: candidates, what is asked of them, their ranks, and why."""
