"""How engines use GPU memory: the terms, and `fit`, which adds them."""
