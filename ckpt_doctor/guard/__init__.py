"""Assertions for a project's own tests: that a run can be resumed, and does not get slower by it.

One file an assertion. Each returns a ``Failure`` with the cause in it, or None where all is well; which
program runs the tests is none of its business (``ckpt_doctor/pytest_plugin.py`` is the one for pytest).
"""
