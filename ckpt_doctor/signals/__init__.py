"""What is measured: one file a signal, with its unit, its side, and what measures it."""
