"""Modes that are asked for at each backward."""

from __future__ import annotations

from tests.conftest import Train
from tests.recorded import MODEL, check_parts

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

SETTINGS = (
    MODEL
    + """
import cProfile, tracemalloc, warnings
warnings.simplefilter("ignore")
{before}
for _ in range(4): step()
"""
)


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
