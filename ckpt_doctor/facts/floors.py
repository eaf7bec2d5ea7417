"""How far apart processes of identical code read: what a slowdown has to be larger than."""

SAME_RATIO = 1.05
"""Whoever looks for a slowdown looks for a larger one: what is surely below this needs no more measuring."""
PAIRED_RATIO = 1.15
"""One pair of processes, taking turns on a quiet machine, read 0.92 to 1.14."""
SURE_RATIO = 1.25
"""So far apart is no pair, as far as has been seen, whatever the machine was doing."""
