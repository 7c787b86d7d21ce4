"""Memory of training: what each rank keeps of the model, and what a step adds to it."""
