"""The training loader gets the control's arguments back."""

from __future__ import annotations

from ckpt_doctor.agent.treatments.dat205_arguments_restored import plan
from ckpt_doctor.facts.treatment import NotTested, NotThere, PutBack
from tests.agent.treatments.conftest import Treat, said, suspected
from tests.builders import comparison_of, control, event, make_case, resumed

ARGUMENTS = {"num_workers": 1, "prefetch_factor": 3, "persistent_workers": True, "context": "fork"}

SCRIPT = """
import os, torch
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __init__(self, count):
        self.count = count
    def __len__(self):
        return self.count
    def __getitem__(self, index):
        return torch.tensor([float(os.getpid() != parent)])

parent = os.getpid()
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
for count in (8, 6):
    loader = DataLoader(Numbers(count), batch_size=2)
    for epoch in range(2):
        away = []
        for x in loader:
            optimizer.zero_grad()
            model(x).sum().backward()
            optimizer.step()
            away.append(x.sum().item())
    print(away, loader.num_workers, loader.prefetch_factor, loader.persistent_workers)
"""


def test_the_arguments_of_one_loader(treat: Treat) -> None:
    """The loader of the training data has workers again, the other one stays as it is."""
    settings = {"loader": {"dataset": "Numbers", "dataset_len": 8}, "arguments": ARGUMENTS}
    restored = treat(SCRIPT, "DAT205", settings)
    assert restored.process.stdout.splitlines() == [
        "[2.0, 2.0, 2.0, 2.0] 1 3 True",
        "[0.0, 0.0, 0.0] 0 None False",
    ]
    assert said(restored) == ["num_workers, prefetch_factor, persistent_workers, context"]
    assert len(restored.events("worker_start")) == 1


def test_only_what_changed_is_put_back() -> None:
    """Arguments that are equal, or that the script alone can change, are not touched."""
    known = {"loader": 0, "dataset": "Numbers", "dataset_len": 8, "prefetch_factor": 2}
    before = control(events=[event("loader", 0, num_workers=2, batch_size=4, **known)])

    def planned(**arguments: object) -> PutBack | NotTested:
        after = resumed(events=[event("loader", 0, **known, **arguments)])
        return plan(suspected("DAT205"), comparison_of(make_case(before, after)))

    fewer = planned(num_workers=0, batch_size=4)
    assert isinstance(fewer, PutBack)
    assert fewer.settings == {
        "loader": {"dataset": "Numbers", "dataset_len": 8},
        "arguments": {"num_workers": 2},
    }
    assert fewer.what == "num_workers=2"
    assert isinstance(planned(num_workers=2, batch_size=8), NotThere)
