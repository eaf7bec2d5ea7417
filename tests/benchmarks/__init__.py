"""Benchmarks: each a module of its own, each writes its section of RESULTS.md."""
