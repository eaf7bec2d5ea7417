"""Loader workers live on between epochs."""

from __future__ import annotations

from ckpt_doctor.agent.treatments.dat204_workers_kept import plan
from ckpt_doctor.facts.treatment import NotThere, PutBack
from tests.agent.treatments.conftest import Treat, failed, said, suspected
from tests.builders import comparison_of, control, event, make_case, resumed

LOADER = {"dataset": "Numbers", "dataset_len": 12}

SCRIPT = """
import os, torch
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 12
    def __getitem__(self, index):
        return torch.tensor([index, os.getpid()])

model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
def train(x):
    optimizer.zero_grad()
    model(x[:, :1].float()).sum().backward()
    optimizer.step()
    return x.tolist()

def loader(data, sampler=None):
    return DataLoader(data, batch_size=2, sampler=sampler, num_workers=2)

def told(name, epochs):
    workers = {pid for rows in epochs for _, pid in rows}
    print(name, [[index for index, _ in rows] for rows in epochs], flush=True)
    with open("workers.txt", "a") as file:
        file.write(f"{len(workers)} ")

data = Numbers()
one = loader(data)
told("one loader", [[row for x in one for row in train(x)] for _ in range(3)])
orders = [list(range(12)), list(range(11, -1, -1)), [3] * 4]
told("built anew", [[row for x in loader(data, order) for row in train(x)] for order in orders])
pairs = list(zip(loader(data, orders[0]), loader(data, orders[1])))
told("two at once", [[row for x in side for row in x.tolist()] for side in zip(*pairs)])
broken = []
for _ in range(3):
    for x in one:
        broken.append(train(x))
        break
told("broken off", broken)
told("at last", [[row for x in one for row in train(x)]])
other = type("Numbers", (Numbers,), {"__len__": lambda self: 4})
told("another data set", [[row for x in loader(other()) for row in x.tolist()] for _ in range(3)])
"""

ANEW = SCRIPT.partition("data = Numbers()")[0] + (
    'told("anew", [[row for x in loader(Numbers()) for row in train(x)] for _ in range(4)])\n'
)


def test_the_same_data_from_fewer_workers(treat: Treat) -> None:
    """Every loader gives what it gave before, also two at once and one that is broken off and used again."""
    usual = treat(SCRIPT, "DAT204", None)
    kept = treat(SCRIPT, "DAT204", LOADER)
    assert kept.process.stdout == usual.process.stdout
    numbers = (usual.folder.parent / "workers.txt").read_text().split()
    assert numbers[:6] == ["6", "6", "4", "3", "2", "6"]
    # Two loaders at once need four workers; there were two of them, and two more were started.
    assert numbers[6:] == ["2", "2", "4", "1", "2", "6"]
    assert said(kept) == ["workers kept"]
    assert failed(kept) == []


def test_a_data_set_that_is_built_anew(treat: Treat) -> None:
    """Workers of another object cannot be kept, and that is said."""
    kept = treat(ANEW, "DAT204", LOADER)
    assert (kept.folder.parent / "workers.txt").read_text() == "8 "
    assert failed(kept) == [
        "the script builds its data set anew each time: the workers of the last one cannot go on with it"
    ]


def test_a_loader_without_workers() -> None:
    """There is nothing to keep."""
    finding = suspected("DAT204")
    for workers, kind in ((2, PutBack), (0, NotThere)):
        loader = event("loader", 0, loader=0, num_workers=workers, **LOADER)
        comparison = comparison_of(make_case(control(), resumed(events=[loader])))
        assert isinstance(plan(finding, comparison), kind)
