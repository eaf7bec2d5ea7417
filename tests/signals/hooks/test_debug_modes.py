"""Modes that are asked for at each backward."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Train
from tests.recorded import MODEL, check_parts, run_alone

MODES = (
    MODEL
    + """
import warnings
warnings.simplefilter("ignore")
x = torch.ones(4, 8, requires_grad=True)
step()
with torch.autograd.detect_anomaly():
    model(x).sum().backward()
optimizer.step()
torch.autograd.set_detect_anomaly(True)
step()
torch.autograd.set_detect_anomaly(False)
with torch.autograd.profiler.profile():
    model(x).sum().backward()
    torch.autograd.grad(model(x).sum(), x)
optimizer.step()
with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]):
    step()
loss = model(x).square().sum()
loss.backward(retain_graph=True)
loss.backward()
optimizer.step()
(penalty,) = torch.autograd.grad(model(x).square().sum(), x, create_graph=True)
penalty.sum().backward()
optimizer.step()
torch.autograd.grad(model(x).square().sum(), [x], None, True)
torch.autograd.backward(model(x).sum(), None, False, True)
optimizer.step()
"""
)

EVERYTHING = """
import sys, warnings
import torch
from torch.utils.checkpoint import checkpoint
warnings.simplefilter("ignore")
torch.manual_seed(0)
block = lambda: torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.3))
blocks = torch.nn.ModuleList(block() for _ in range(3))
blocks[0].register_forward_hook(lambda module, args, output: output * 1.5)
optimizer = torch.optim.Adam(blocks.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**120)
for step in range(5):
    x = torch.randn(4, 8, requires_grad=True)
    with torch.autograd.set_detect_anomaly(False), torch.autocast("cpu", dtype=torch.bfloat16):
        y = x
        for each in blocks:
            y = checkpoint(each, y, use_reentrant=step % 2 == 0)
    loss = y.float().square().sum() * 1e6
    optimizer.zero_grad()
    scaler.scale(loss).backward(retain_graph=step == 3)
    scaler.step(optimizer)
    scaler.update()
    print(repr(loss.item()), scaler.get_scale(), repr(blocks[0][0].weight.sum().item()))
print(torch.rand(2).tolist())
sys.exit(3)
"""

SETTINGS = (
    MODEL
    + """
import cProfile, tracemalloc, warnings
warnings.simplefilter("ignore")
{before}
for _ in range(4): step()
"""
)


def test_a_script_does_the_same_without_the_agent(train: Train, tmp_path: Path) -> None:
    """Losses, scales and random numbers to the last digit, whatever is wrapped."""
    (tmp_path / "train.py").write_text(EVERYTHING)
    alone = run_alone(tmp_path, "train.py")
    recorded = train(EVERYTHING)
    assert alone.returncode == recorded.process.returncode == 3, recorded.process.stderr
    assert len(alone.stdout.splitlines()) == 6
    assert recorded.process.stdout == alone.stdout


def test_passes_under_a_mode_are_counted(train: Train) -> None:
    """Anomaly detection, either profiler, and graphs that are kept, also by ``create_graph``."""
    recorded = train(MODES)
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert recorded.counts("anomaly_backwards") == [0, 1, 1, 0, 0, 0, 0, 0]
    assert recorded.counts("profiled_backwards") == [0, 0, 0, 2, 1, 0, 0, 0]
    assert recorded.counts("retained_backwards") == [0, 0, 0, 0, 0, 1, 1, 1]
    check_parts(recorded.steps)


def test_what_stays_on_is_in_the_fingerprint(train: Train) -> None:
    """A profiler of torch's, and what Python is traced with."""
    for before, key, value in (
        ("pass", "autograd.profiler", False),
        ("torch.autograd.profiler.profile().__enter__()", "autograd.profiler", True),
        ("pass", "python.tracing", ""),
        ("cProfile.Profile().enable()", "python.tracing", "profile"),
        (
            "import sys; sys.settrace(lambda *args: None); tracemalloc.start()",
            "python.tracing",
            "trace,tracemalloc",
        ),
    ):
        recorded = train(SETTINGS.format(before=before))
        assert recorded.process.returncode == 0, recorded.process.stderr
        assert recorded.rank.fingerprints[-1].values[key] == value
