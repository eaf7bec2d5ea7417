"""Batches that are drawn and dropped are skipped in the sampler."""

from __future__ import annotations

import pytest

from ckpt_doctor.agent.treatments.dat202_batches_skipped import cost_s, plan
from ckpt_doctor.facts.treatment import NotTested, NotThere, PutBack
from tests.agent.treatments.conftest import Treat, said, suspected
from tests.builders import RESUMED_STEPS, comparison_of, control, event, make_case, resumed

LOADER = {"dataset": "Numbers", "dataset_len": 40}

SCRIPT = """
import os, torch
from torch.utils.data import DataLoader, Dataset
workers = int(os.environ["WORKERS"])
reads = torch.zeros(1, dtype=torch.int64).share_memory_()

class Numbers(Dataset):
    def __len__(self):
        return 40
    def __getitem__(self, index):
        reads.add_(1)
        return torch.tensor([float(index)])

model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
def batches():
    while True:
        yield from DataLoader(
            Numbers(), batch_size=4, shuffle=True, num_workers=workers,
            generator=torch.Generator().manual_seed(len(seen)))
seen = []
other = next(iter(DataLoader(torch.arange(8.0), batch_size=2)))
drawn = batches()
for _ in range(13):
    assert next(drawn).shape == (4, 1)
    seen.append(0)
for step in range(4):
    x = next(drawn)
    optimizer.zero_grad()
    model(x).sum().backward()
    optimizer.step()
    print(x.flatten().tolist())
print(other.tolist())
with open("reads.txt", "w") as file:
    file.write(str(int(reads)))
"""


def test_the_same_data_without_the_reads(treat: Treat) -> None:
    """Also over the end of an epoch: steps are fed the same, and what is dropped is not read."""
    usual = treat(SCRIPT, "DAT202", None, WORKERS="0")
    usual_reads = int((usual.folder.parent / "reads.txt").read_text())
    for workers in ("0", "1"):
        skipped = treat(SCRIPT, "DAT202", {"loader": LOADER, "batches": 13}, WORKERS=workers)
        assert skipped.process.stdout == usual.process.stdout
        assert said(skipped) == ["10 batches skipped", "3 batches skipped"]
        # Of 13 dropped batches one an epoch shows what they look like, and a worker reads ahead.
        assert int((skipped.folder.parent / "reads.txt").read_text()) < usual_reads - 4 * 7


def test_as_many_as_were_drawn_more(treat: Treat) -> None:
    """The plan counts against a fresh start; a data set without indices, or no replay, cannot be treated."""
    replay = {"batches": [61] + [1] * (RESUMED_STEPS - 1)}
    finding = suspected("DAT202", share_ratio=None)

    def planned(**arguments: object) -> PutBack | NotTested:
        loader = event("loader", 0, loader=0, kind="DataLoader", **LOADER, **arguments)
        return plan(finding, comparison_of(make_case(control(), resumed(counters=replay, events=[loader]))))

    usual = planned(sampler="RandomSampler")
    assert isinstance(usual, PutBack)
    assert usual.settings == {"loader": LOADER, "batches": 60}
    assert isinstance(planned(sampler="_InfiniteConstantSampler"), NotTested)
    no_replay = resumed(events=[event("loader", 0, loader=0, kind="DataLoader", **LOADER)])
    assert isinstance(plan(finding, comparison_of(make_case(control(), no_replay))), NotThere)
    assert isinstance(plan(finding, comparison_of(make_case(control(), resumed()))), NotTested)
    assert isinstance(plan(suspected("DAT202"), comparison_of(make_case(control(), resumed()))), NotTested)


def test_the_cost_at_the_start(treat: Treat) -> None:
    """It is the part of the first wait for data that went into dropped batches."""
    waits = {"data_wait": [0.005] + [0.001] * (RESUMED_STEPS - 1)}
    replay = {"batches": [5] + [1] * (RESUMED_STEPS - 1)}
    comparison = comparison_of(make_case(control(), resumed(counters=replay, parts=waits)))
    assert cost_s(comparison) == pytest.approx(0.004)
