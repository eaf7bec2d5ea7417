"""Signals measured from outside, by sampling the process tree and the machine."""
