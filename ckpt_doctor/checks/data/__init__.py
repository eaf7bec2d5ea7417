"""Rules about the data side of a step (DAT2xx)."""
