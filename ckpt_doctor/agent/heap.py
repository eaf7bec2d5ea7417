"""Settings that keep a process's heap from moving."""

from __future__ import annotations

STEADY_HEAP = {"MALLOC_MMAP_THRESHOLD_": str(32 * 2**20), "MALLOC_TRIM_THRESHOLD_": str(2**30)}
"""Fixed thresholds (mallopt(3)); the first is the largest that glibc accepts."""
