"""Repairs of what a checkpoint holds (STA1xx)."""
