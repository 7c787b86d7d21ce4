"""Facts about GPUs, EC2 instance types, prices and models, with their sources and dates."""
