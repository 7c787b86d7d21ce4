"""What makes a plan impossible or poor: pure functions that return reasons."""
