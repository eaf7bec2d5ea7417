"""Whole probes, from the command line to the report."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import psutil
import pytest

from ckpt_doctor import doctor, report
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.readers.recordings import read_recording
from tests.recorded import environment

FIXTURES = Path(__file__).parents[1] / "fixtures"

SCRIPT = """
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--resume")
parser.add_argument("--double", action="store_true")
args = parser.parse_args()

import torch
from torch.utils.data import DataLoader, Sampler, TensorDataset

class Order(Sampler):
    def __init__(self, step):
        self.epoch, self.start = divmod(step * 4, 2000)

    def __iter__(self):
        order = torch.randperm(2000, generator=torch.Generator().manual_seed(self.epoch)).tolist()
        yield from order[self.start :]
        self.epoch, self.start = self.epoch + 1, 0

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(64, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 64))
optimizer = torch.optim.Adagrad(model.parameters(), lr=1e-4)
step = 0
if args.resume:
    state = torch.load(args.resume)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    step = state["step"]
    if args.double:
        for values in optimizer.state.values():
            values["sum"] = values["sum"].double()
loader = DataLoader(TensorDataset(torch.rand(2000, 64)), batch_size=4, sampler=Order(step))
while True:
    for x, in loader:
        optimizer.zero_grad()
        (model(x) - x).square().mean().backward()
        optimizer.step()
        step += 1
        if step == 20:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
            torch.save(state, "checkpoint.pt")
"""
"""Most of its step is the optimizer's."""


def probe(
    folder: Path, script: str, *options: str, arguments: tuple[str, ...] = ()
) -> tuple[int, dict[str, Any]]:
    """Probe a script; returns the exit code and the JSON report, which is valid."""
    (folder / "train.py").write_text(script)
    ours = [sys.executable, "-m", "ckpt_doctor", "probe", "--format", "json", "--resume-args"]
    command = [*ours, "--resume {checkpoint}", "--recordings", "recordings", *options, "train.py", *arguments]
    result = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=120, check=False
    )
    assert result.stdout, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    schema = json.loads((Path(report.__file__).parent / "schema.json").read_text())
    jsonschema.validate(found, schema)
    return result.returncode, found


def check_budget(found: dict[str, Any]) -> None:
    """Check that the parts of the budget add up to the measured difference, within 1 %."""
    verdict = found["verdict"]
    difference_s = verdict["after_step_s"] - verdict["before_step_s"]
    parts_s = sum(part["delta_s"] for part in found["budget"])
    assert parts_s == pytest.approx(difference_s, rel=0.01, abs=1e-7)


def check_list(folder: Path, found: dict[str, Any]) -> None:
    """Check the list of a healthy resume, in no project, whose checkpoint lacks the generators."""
    listed = {item["name"]: item for item in found["checklist"]}
    assert {name: item["status"] for name, item in listed.items() if name != "step-times-compared"} == {
        "function-and-loss": "not_evaluated",
        "more-than-model-saved": "failed",
        "persistent-workers": "checked",
        "recompiles-and-graphs": "checked",
        "state-restored": "failed",
        "guard-in-ci": "not_evaluated",
    }
    assert listed["more-than-model-saved"]["codes"][0] == listed["state-restored"]["codes"][0] == "STA113"
    recordings = [str(folder / "recordings" / arm) for arm in ("before", "after")]
    again = doctor.compare(recordings[0], recordings[1], Policy()).checklist
    assert [(item.name, item.status.value) for item in again] == [
        (item["name"], item["status"]) for item in found["checklist"]
    ]


def test_a_healthy_resume(tmp_path: Path, nothing_left: None) -> None:
    """A run that resumes well is never called slower; the report and both recordings are whole."""
    code, found = probe(tmp_path, SCRIPT, "--turns", "8", "--turn", "0.3", "--no-stacks")
    assert code in (0, 3), found["findings"]
    assert found["verdict"]["status"] in ("same", "healthy", "faster", "inconclusive")
    check_budget(found)
    assert found["checkpoints"][0]["states"]["optimizer"]["presence"] == "present"
    before = read_recording(tmp_path / "recordings/before").ranks[0].steps
    after = read_recording(tmp_path / "recordings/after").ranks[0].steps
    assert after.digests[:50] == before.digests[20:70]
    check_list(tmp_path, found)


def test_optimizer_state_in_double_precision(tmp_path: Path, nothing_left: None) -> None:
    """State that comes back as float64 makes each step slower, and is named as the cause."""
    options = ("--turns", "8", "--turn", "0.3", "--threads", "1", "--steady-heap")
    code, found = probe(tmp_path, SCRIPT, *options, arguments=("--double",))
    assert code == 1, found["verdict"]
    assert found["verdict"]["status"] == "slower"
    assert found["verdict"]["cause"] == "CMP305"
    assert found["verdict"]["side"] == "compute"
    assert found["findings"][0]["code"] == "CMP305"
    check_budget(found)


def test_several_pairs_of_processes(tmp_path: Path, nothing_left: None) -> None:
    """The ratio of each is told with its recordings; verdict, cause and budget are those of all together."""
    options = ("--turns", "6", "--turn", "0.2", "--threads", "1", "--steady-heap", "--no-stacks")
    code, found = probe(tmp_path, SCRIPT, *options, "--pairs", "2", arguments=("--double",))
    assert code == 1, found["verdict"]
    assert found["verdict"]["cause"] == "CMP305"
    check_budget(found)
    pairs = found["verdict"]["pairs"]
    arms = [[Path(pair[side]).name for side in ("before", "after")] for pair in pairs]
    assert arms == [["before", "after"], ["before-2", "after-2"]]
    ratios = [pair["ratio"] for pair in pairs]
    assert min(ratios) <= found["verdict"]["ratio"] <= max(ratios)
    assert found["verdict"]["sentence"].count("over 2 pairs of processes") == 1
    for pair in pairs:
        alone = doctor.compare(pair["before"], pair["after"], Policy()).comparison
        assert alone is not None
        assert alone.ratio.value == pytest.approx(pair["ratio"])


def test_a_cause_and_a_wrong_suspect(tmp_path: Path, nothing_left: None) -> None:
    """Without the wide state the time comes back; with the data in memory it does not."""
    options = ("--turns", "6", "--turn", "0.2", "--threads", "1", "--steady-heap", "--no-stacks")
    suspects = ("--suspect", "CMP305", "--suspect", "DAT203")
    code, found = probe(tmp_path, SCRIPT, *options, *suspects, arguments=("--double",))
    assert code == 1, found["verdict"]
    assert found["verdict"]["cause"] == "CMP305"
    tests = {f["code"]: f["confirmation"] for f in found["findings"] if f["confirmation"] is not None}
    assert tests["CMP305"]["treatment"] == "optimizer 0: state as float32"
    assert tests["CMP305"]["confirmed"] is not False, tests
    assert tests["CMP305"]["recovered_s"] > 0
    assert tests["DAT203"]["confirmed"] is not True, tests
    treated = read_recording(tmp_path / "recordings/confirm-CMP305").ranks[0]
    assert "float64" not in str(treated.fingerprints[-1].values["optimizer.0.state_dtypes"])


def heed_sigint() -> None:
    """Undo what a shell does to its background jobs: they, and all they start, ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_doctor_that_is_interrupted(tmp_path: Path, nothing_left: None, number: signal.Signals) -> None:
    """Ctrl-C, a scheduler's SIGTERM or even SIGKILL leave no process of the script's behind."""
    (tmp_path / "train.py").write_text(
        "import os\nif os.fork() == 0: os.setsid()\n"
        "open(f'started-{os.getpid()}', 'w').close()\nwhile True: pass\n"
    )
    command = [sys.executable, "-m", "ckpt_doctor", "probe", "train.py"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_sigint,
    )
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("started-*"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode not in (0, 1, 3)
    assert "Traceback" not in errors
    pids = [int(path.name.split("-")[1]) for path in tmp_path.glob("started-*")]
    while any(psutil.pid_exists(pid) for pid in pids):
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.long
def test_two_ranks(tmp_path: Path, nothing_left: None) -> None:
    """Under torchrun each rank has a file on either side, and both runs find a port."""
    (tmp_path / "train.py").write_text(RANKS)
    launcher = ("torchrun", "--nproc-per-node", "2", "train.py")
    ours = (sys.executable, "-m", "ckpt_doctor", "probe", "--format", "json", "--recordings", "recordings")
    short = ("--turns", "4", "--turn", "0.3", "--no-stacks", "--resume-args", "{checkpoint}", "--")
    path = f"{Path(sys.executable).parent}:{environment()['PATH']}"
    result = subprocess.run(
        [*ours, *short, *launcher],
        cwd=tmp_path,
        env=environment(PATH=path),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert result.returncode in (0, 1, 3), result.stderr
    check_budget(json.loads(result.stdout))
    for arm in ("before", "after"):
        ranks = read_recording(tmp_path / "recordings" / arm).ranks
        assert [rank.rank for rank in ranks] == [0, 1]
        assert len(ranks[0].steps) >= 20
        assert abs(len(ranks[0].steps) - len(ranks[1].steps)) <= 1


def test_a_checkpoint_that_was_saved_over(tmp_path: Path) -> None:
    """Two recordings are compared without what lies at the checkpoint's path, if that was written since."""
    shutil.copytree(FIXTURES / "recordings" / "load_memory_kept", tmp_path, dirs_exist_ok=True)
    saved = tmp_path / "saved.pt"
    shutil.copy(FIXTURES / "checkpoints" / "complete.pt", saved)
    trailer = tmp_path / "after" / "trailer.json"
    trailer.write_text(json.dumps({**json.loads(trailer.read_text()), "checkpoint": str(saved)}))
    runs = str(tmp_path / "before"), str(tmp_path / "after")
    resumed_unix_s = read_recording(tmp_path / "after").meta.created_unix_s

    os.utime(saved, (resumed_unix_s + 5.0, resumed_unix_s + 5.0))
    after = doctor.compare(*runs, Policy())
    assert after.checkpoints == ()
    assert any(f"{saved} is not inspected" in told for told in after.warnings)

    os.utime(saved, (resumed_unix_s - 5.0, resumed_unix_s - 5.0))
    before = doctor.compare(*runs, Policy())
    assert [facts.path for facts in before.checkpoints] == [str(saved)]
    assert not any("not inspected" in told for told in before.warnings)


RANKS = """
import sys
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(256, 256))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
if sys.argv[1:]:
    model.load_state_dict(torch.load(sys.argv[1]))
for step in range(10**9):
    optimizer.zero_grad()
    model(torch.rand(32, 256)).square().mean().backward()
    optimizer.step()
    if step == 10 and dist.get_rank() == 0:
        torch.save(model.state_dict(), "checkpoint.pt")
"""
