"""Signals measured inside the training process, by hooks."""
