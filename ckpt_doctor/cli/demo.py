"""``ckpt-doctor demo``: a bundled training script with a real fault, probed."""
