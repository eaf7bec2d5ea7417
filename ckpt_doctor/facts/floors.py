"""How far apart processes of identical code read: what a slowdown has to be larger than."""

PAIRED_RATIO = 1.15
"""One pair of processes, taking turns on a quiet machine, read 0.92 to 1.14."""
SURE_RATIO = 1.25
"""So far apart is no pair, as far as has been seen, whatever the machine was doing."""
