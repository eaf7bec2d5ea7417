"""A sampler that begins its data too early goes on where the control's is."""

from __future__ import annotations

from dataclasses import replace

from ckpt_doctor.agent.treatments.dat201_order_restored import plan
from ckpt_doctor.facts.comparison import OrderCheck
from ckpt_doctor.facts.treatment import NotTested, NotThere, PutBack
from tests.agent.treatments.conftest import Treat, failed, said, suspected
from tests.builders import comparison_of, control, event, make_case, resumed

LOADER = {"dataset": "Tensor", "dataset_len": 40}
BEGUN_ANEW = OrderCheck(restored=False, compared_steps=50, first_difference=1, offset=30, source="indices")

SCRIPT = """
import os, torch
from torch.utils.data import DataLoader
loader = DataLoader(
    torch.arange(40.0), batch_size=4, shuffle=True, num_workers=int(os.environ["WORKERS"]),
    generator=torch.Generator().manual_seed(3))
other = DataLoader(torch.arange(8.0), batch_size=2)
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
print(next(iter(other)).tolist())
for epoch in range(2):
    for x in loader:
        optimizer.zero_grad()
        model(x.unsqueeze(1)).sum().backward()
        optimizer.step()
        print(x.tolist())
"""


def test_the_data_of_the_control_from_there_on(treat: Treat) -> None:
    """What comes before is left out of the first epoch alone, with and without workers."""
    whole = treat(SCRIPT, "DAT201", None, WORKERS="0").process.stdout.splitlines()
    assert len(whole) == 1 + 2 * 10
    for workers in ("0", "1"):
        moved = treat(SCRIPT, "DAT201", {"loader": LOADER, "batches": 7}, WORKERS=workers)
        assert moved.process.stdout.splitlines() == [whole[0], *whole[8:]]
        assert said(moved) == ["7 batches further on"]


def test_an_epoch_that_is_too_short(treat: Treat) -> None:
    """Where the place lies in another epoch nothing is left out, and it is said why."""
    whole = treat(SCRIPT, "DAT201", None, WORKERS="0")
    moved = treat(SCRIPT, "DAT201", {"loader": LOADER, "batches": 13}, WORKERS="0")
    assert moved.process.stdout == whole.process.stdout
    assert failed(moved) == ["the epoch has 10 batches, and 13 were to be passed"]


def test_as_many_batches_as_it_is_behind() -> None:
    """The plan counts from where the data stand in the control; what no sampler reaches is not tested."""

    def planned(order: OrderCheck, mean_s: float = 0.02, **arguments: object) -> PutBack | NotTested:
        loader = event("loader", 0, loader=0, **{"kind": "DataLoader", **LOADER, **arguments})
        batches = {"batches": 2.0}
        before = control(counters=batches, events=[loader])
        case = make_case(before, resumed(mean_s, counters=batches, events=[loader]))
        return plan(suspected("DAT201", delta_s=None), replace(comparison_of(case), order=order))

    usual = planned(BEGUN_ANEW)
    assert isinstance(usual, PutBack)
    origin = comparison_of(make_case(control(), resumed())).before.origin
    assert usual.settings == {"loader": LOADER, "batches": 2 * (origin - 30)}
    assert isinstance(planned(replace(BEGUN_ANEW, restored=True)), NotThere)
    for order in (
        replace(BEGUN_ANEW, offset=None),
        replace(BEGUN_ANEW, offset=origin + 5),
        replace(BEGUN_ANEW, source="batches"),
        replace(BEGUN_ANEW, restored=None, source=None),
    ):
        assert type(planned(order)) is NotTested
    assert type(planned(BEGUN_ANEW, kind="StatefulDataLoader")) is NotTested
    assert type(planned(BEGUN_ANEW, sampler="_InfiniteConstantSampler")) is NotTested
    as_fast = planned(BEGUN_ANEW, mean_s=0.01)
    assert isinstance(as_fast, NotTested)
    assert "costs no time" in as_fast.why
