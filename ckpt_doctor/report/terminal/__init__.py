"""Text for terminals: the only part of the reports that knows rich."""
