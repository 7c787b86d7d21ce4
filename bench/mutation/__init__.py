"""Changes the memory model on purpose and counts the changes that no test notices."""
