"""The environment variables that a run of the probe gets."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping

from ckpt_doctor.agent.heap import STEADY_HEAP
from ckpt_doctor.facts.treatment import Trial
from ckpt_doctor.probe.request import ProbeRequest

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def variables(request: ProbeRequest, trial: Trial | None, *, second: bool) -> Mapping[str, str]:
    """Those of the doctor, with what was asked for.

    Args:
        request: What the probe was asked to do.
        trial: What is put back in this run, if anything is.
        second: Whether another run lives beside it, which holds the port of its launcher.
    """
    environment = dict(os.environ)
    if request.threads is not None:
        environment.update(dict.fromkeys(THREAD_VARIABLES, str(request.threads)))
    if request.steady_heap:
        environment.update(STEADY_HEAP)
    if second:
        # torchrun reads its default from PET_*.
        port = str(_free_port())
        environment.setdefault("PET_MASTER_PORT", port)
        if "MASTER_PORT" in environment:
            environment["MASTER_PORT"] = port
    for name, value in (trial.put_back.environment if trial is not None else {}).items():
        environment.pop(name, None)
        if value is not None:
            environment[name] = value
    return environment


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
