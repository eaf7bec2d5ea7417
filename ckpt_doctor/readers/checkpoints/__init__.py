"""Formats of checkpoint files, one module each, found by scanning this folder.

A module has

- ``NAME``: the format's name in reports, as ``torch_zip``;
- ``ORDER``: modules of lower order are asked first;
- ``claims(reading)``: whether the file is of this format, by its magic bytes and its structure;
- ``read(reading)``: the decoded ``Document``, or ``Malformed`` with one sentence that says why not.
"""
