"""What evidence that is no recording cannot tell, as the rules ask for it."""

from __future__ import annotations

from collections.abc import Collection

from ckpt_doctor.facts.recording import RECORDING

SIGNALS = (
    "parts",
    "settings",
    "machine",
    "elements",
    "sample_order",
    "batches",
    "worker_start",
    "compile",
    "graph_capture",
    "scaler_skip",
    "save",
    "load",
    "imports",
    "minor_faults",
    "system_s",
    "physical_read_bytes",
    "run_queue_s",
)
"""Signals of a recording that some rule counts or asks for: without a word they would seem not to have
happened."""


def absences(kind: str, told: Collection[str]) -> dict[str, str]:
    """What is missing, and why, for ``RankRecord.not_measured``.

    Args:
        kind: What was read, in words.
        told: Signals that it does tell.
    """
    missing = {name: f"a {kind} does not tell" for name in SIGNALS if name not in told}
    return {RECORDING: f"a {kind} tells too little: this takes a recording", **missing}
