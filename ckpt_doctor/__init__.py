"""Find out why a PyTorch run became slower after it was resumed from a checkpoint."""

__version__ = "0.1.0"
