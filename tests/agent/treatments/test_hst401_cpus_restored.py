"""The run has as many CPUs and threads as the control."""

from __future__ import annotations

import os

import pytest

from ckpt_doctor.agent.treatments.hst401_cpus_restored import plan
from ckpt_doctor.facts.treatment import NotTested, NotThere, PutBack
from tests.agent.treatments.conftest import Treat, said, suspected
from tests.builders import comparison_of, control, make_case, resumed
from tests.recorded import MODEL

SCRIPT = (
    """
import os
first = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {first})
import torch
os.sched_setaffinity(0, {first})
torch.set_num_threads(1)
"""
    + MODEL
    + """
step(), step()
print(len(os.sched_getaffinity(0)), torch.get_num_threads())
torch.set_num_threads(4)
print(torch.get_num_threads())
"""
)


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="one CPU cannot become fewer")
def test_a_script_that_binds_itself(treat: Treat) -> None:
    """Before torch is there, and after that: it is widened, and not narrowed again; more is allowed."""
    restored = treat(SCRIPT, "HST401", {"cpus.allowed": 2, "threads.intra_op": 2})
    assert restored.process.stdout == "2 2\n4\n"
    assert said(restored) == [
        "widened from 1 CPUs",
        "2 threads set",
        "not narrowed to 1 CPUs",
        "not narrowed to 1 threads",
    ]


def test_counts_and_variables_of_the_control() -> None:
    """What differs is put back, a variable that was not set is taken out."""
    finding = suspected("HST401")

    def planned(**after: object) -> PutBack | NotTested:
        return plan(finding, comparison_of(make_case(control(), resumed(values=after))))

    fewer = planned(**{"cpus.allowed": 1, "env.OMP_NUM_THREADS": "1"})
    assert isinstance(fewer, PutBack)
    assert fewer.settings == {"cpus.allowed": 2}
    assert fewer.environment == {"OMP_NUM_THREADS": None}
    assert fewer.what == "cpus.allowed 2, env.OMP_NUM_THREADS not set"
    assert isinstance(planned(), NotThere)
