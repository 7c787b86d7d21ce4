"""Random stacks for the policy pack: what they hold, and what the pack says of them."""
