"""Rules about what a checkpoint holds (STA1xx)."""
