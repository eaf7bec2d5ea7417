"""What runs inside the training process: standard library only at import, cheap."""
