"""Findings become text: one file an output format. Nothing is judged here."""
