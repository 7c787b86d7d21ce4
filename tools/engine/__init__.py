"""How this clone comes to a Pulumi engine, and runs programs on it without a cloud account."""
