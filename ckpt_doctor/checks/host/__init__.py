"""Rules about the machine (HST4xx)."""
