"""Memory of training a pipeline: frozen parts, what is trained, and what a step adds to it."""
