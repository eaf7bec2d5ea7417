"""Writing repaired copies within the test process, and the training that goes on from them."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ckpt_doctor import doctor
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.repair import RepairOutcome, RepairRequest

FIXTURES = Path(__file__).parents[2] / "fixtures" / "checkpoints"

Treat = Callable[..., RepairOutcome]


@pytest.fixture
def treat(tmp_path: Path) -> Treat:
    """Write a repaired copy into the test's folder; options are those of ``RepairRequest``."""

    def call(source: Path, *, output: Path | None = None, **options: Any) -> RepairOutcome:
        place = output or tmp_path / f"fixed-{source.name}"
        return doctor.treat(RepairRequest(path=str(source), output=str(place), **options), Policy())

    return call


def load(outcome: RepairOutcome | Path) -> Any:
    """What a copy or another file holds."""
    path = outcome.output if isinstance(outcome, RepairOutcome) else outcome
    assert path is not None
    return torch.load(path, weights_only=False)


def codes(outcome: RepairOutcome) -> list[str]:
    """Codes of the rules whose findings were repaired."""
    return [repair.code for repair in outcome.repairs if repair.changes]


def found(outcome: RepairOutcome) -> set[str]:
    """Codes of what is still found."""
    return {finding.code for finding in outcome.remaining}


def said(outcome: RepairOutcome) -> str:
    """Everything that was done and not done, in one text."""
    return "\n".join(
        [change.what for repair in outcome.repairs for change in repair.changes]
        + [kept.why for repair in outcome.repairs for kept in repair.kept]
    )


def trained(**options: Any) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    """The model and the optimizer of the fixtures, two steps old."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
    optimizer = torch.optim.AdamW(model.parameters(), **options)
    train(model, optimizer, steps=2)
    return model, optimizer


def train(model: torch.nn.Module, optimizer: torch.optim.Optimizer, *, steps: int = 5) -> list[torch.Tensor]:
    """Go on for some steps on data that are the same each time; the parameters after them."""
    generator = torch.Generator().manual_seed(3)
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.randn(4, 8, generator=generator)).square().mean().backward()
        optimizer.step()
    return [parameter.detach().clone() for parameter in model.parameters()]


def resumed(
    state: dict[str, Any], *, model: str = "model", optimizer: str = "optimizer"
) -> list[torch.Tensor]:
    """The parameters of a plain model and its optimizer, five steps after they were loaded."""
    plain, steps = trained()
    plain.load_state_dict(state[model])
    steps.load_state_dict(state[optimizer])
    return train(plain, steps)


def is_equal(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    """Whether two lists of tensors are the same to the last bit."""
    return len(one) == len(other) and all(map(torch.equal, one, other))


def relocated(source: Path, target: Path, place: str = "cuda:0") -> Path:
    """The same file with all storages placed on another device, as a run there would have saved it."""
    text = place.encode()
    with zipfile.ZipFile(source) as before, zipfile.ZipFile(target, "w") as after:
        for name in before.namelist():
            data = before.read(name)
            if name.endswith("/data.pkl"):
                data = data.replace(b"X\x03\x00\x00\x00cpu", b"X" + len(text).to_bytes(4, "little") + text)
            after.writestr(name, data)
    return target
