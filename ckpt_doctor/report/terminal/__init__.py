"""Text for terminals: what it looks like, in columns and colours."""
