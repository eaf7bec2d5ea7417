"""Rules about the measurement itself (MSR9xx)."""
