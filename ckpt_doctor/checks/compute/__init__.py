"""Rules about the compute side of a step (CMP3xx)."""
