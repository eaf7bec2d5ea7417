"""Kinds of evidence about a run that is no recording: one module a kind, found by scanning.

A kind has

- ``NAME``, what it is called in a sentence;
- ``ORDER``, its place among the kinds when a file is recognised;
- ``IN_FOLDERS``, whether its files are looked for in a folder that was given;
- ``claims(file, hints)``, which tells by the content whether a file is of this kind;
- ``read(evidence)``, which makes run records of it, one for each run that it holds, oldest first.
"""
