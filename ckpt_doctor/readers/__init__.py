"""Bytes become facts: one file a format, framework layout or kind of evidence."""
