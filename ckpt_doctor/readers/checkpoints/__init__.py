"""Container formats of checkpoints, recognised by their bytes."""
