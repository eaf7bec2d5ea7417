"""Writes repaired copies of checkpoints; the checkpoint itself is never touched.

A repair is one module of ``repairs/state``, named like the rule whose finding it repairs. Its docstring has
the headings of ``engine.HEADINGS``, and ``apply(draft)`` changes the loaded objects and tells each thing
that it did (``Change``) or left as it is (``Kept``). torch is imported when a checkpoint is loaded.
"""
