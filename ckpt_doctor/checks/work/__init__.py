"""Rules about the amount of work in a step (WRK5xx)."""
