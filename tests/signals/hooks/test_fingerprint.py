"""Settings and sizes of the training process."""

from __future__ import annotations

from collections.abc import Mapping

from tests.conftest import Train
from tests.recorded import MODEL, Recorded

STEPS = MODEL + "for _ in range(13): step()\n"

SETTINGS = """
import torch
torch.set_num_threads(1)
torch.use_deterministic_algorithms(True)
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)).to(torch.float64)
model[0].bias.requires_grad_(False)
adam = torch.optim.AdamW(
    [{"params": model[0].parameters()}, {"params": model[1].parameters(), "foreach": False}], amsgrad=True
)
sgd = torch.optim.SGD([torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))], momentum=0.9, fused=True)
for _ in range(4):
    (model(torch.ones(2, 8, dtype=torch.float64)).sum() + sgd.param_groups[0]["params"][0].sum()).backward()
    adam.step()
    sgd.step()
"""

REBUILT = (
    MODEL
    + """
for _ in range(20):
    optimizer = None
    optimizer = torch.optim.Adam(model.parameters())
    step()
step()
for _ in range(12):
    step()
"""
)


def values(recorded: Recorded, number: int = -1) -> Mapping[str, object]:
    """One fingerprint's values."""
    assert recorded.process.returncode == 0, recorded.process.stderr
    return recorded.rank.fingerprints[number].values


def test_when_it_is_taken(train: Train) -> None:
    """After 3 steps, when optimizers have built their state, and at each doubling."""
    assert [fingerprint.step for fingerprint in train(STEPS).rank.fingerprints] == [3, 6, 12]


def test_what_it_holds(train: Train) -> None:
    """Versions, threads, backend flags, model and optimizer stand in it under their documented names."""
    found = values(train(STEPS))
    assert found == {
        **found,
        "threads.intra_op": 1,
        "backend.deterministic": False,
        "backend.matmul_precision": "highest",
        "backend.cudnn_benchmark": False,
        "backend.cudnn_allow_tf32": True,
        "backend.mkldnn_matmul_precision": "none",
        "autograd.anomaly": False,
        "autograd.profiler": False,
        "python.tracing": "",
        "autograd.grad_enabled": True,
        "default_dtype": "float32",
        "env.OMP_NUM_THREADS": "1",
        "model.trainable_parameters": 2,
        "model.trainable_elements": 9,
        "model.dtypes": "float32:9",
        "model.devices": "cpu:9",
        "optimizer.0.class": "SGD",
        "optimizer.0.groups": 1,
        "optimizer.0.parameters": 2,
        "optimizer.0.state_bytes": 0,
        "optimizer.0.group.0.foreach": None,
    }
    assert {"versions.python", "versions.torch", "versions.cuda"} <= set(found)
    assert all(isinstance(value, (str, int, float, bool, type(None))) for value in found.values())


def test_optimizers(train: Train) -> None:
    """Flags by group, state by dtype and device, and the step counters, which have no dimension, apart."""
    found = values(train(SETTINGS))
    assert found == {
        **found,
        "backend.deterministic": True,
        "optimizer.0.class": "AdamW",
        "optimizer.0.groups": 2,
        "optimizer.0.parameters": 4,
        "optimizer.0.group.0.foreach": None,
        "optimizer.0.group.1.foreach": False,
        "optimizer.0.group.1.amsgrad": True,
        "optimizer.0.state_entries": 3,
        "optimizer.0.state_elements": 3 * (64 + 8 + 1),
        "optimizer.0.state_bytes": 3 * (64 + 8 + 1) * 8,
        "optimizer.0.state_dtypes": f"float64:{3 * 73 * 8}",
        "optimizer.0.state_devices": f"cpu:{3 * 73 * 8}",
        "optimizer.0.state_elsewhere_bytes": 0,
        "optimizer.0.state_pinned_bytes": 0,
        "optimizer.0.step_devices": "cpu:3",
        "optimizer.1.class": "SGD",
        "optimizer.1.group.0.fused": True,
        "optimizer.1.state_dtypes": "bfloat16:6",
        "model.trainable_parameters": 4,
        "model.trainable_elements": 64 + 8 + 1 + 3,
        "model.dtypes": "bfloat16:3,float64:81",
    }


def test_optimizers_that_are_rebuilt(train: Train) -> None:
    """Only optimizers that are alive are described, also where one takes the memory of another."""
    found = values(train(REBUILT))
    classes = {name: value for name, value in found.items() if name.endswith(".class")}
    assert list(classes.values()) == ["Adam"]


def test_settings_that_torch_refuses_to_tell(train: Train) -> None:
    """Where the older and the newer names of a precision are mixed, the rest is described all the same."""
    mixed = (
        "import torch\ntorch.backends.fp32_precision = 'tf32'\ntorch.set_float32_matmul_precision('medium')\n"
    )
    found = values(train(mixed + STEPS.replace("import torch", "")))
    assert found["optimizer.0.class"] == "SGD"
    assert found["backend.mkldnn_matmul_precision"] == "bf16"
