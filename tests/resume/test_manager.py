"""A run that is killed and resumed does what it would have done, to the last bit."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.distributed.checkpoint.stateful import Stateful
from torch.utils.data import DataLoader, TensorDataset

from ckpt_doctor.errors import CheckpointError, UsageError
from ckpt_doctor.facts.states import PresenceStatus, StateKind
from ckpt_doctor.readers.inspection import read_checkpoint
from ckpt_doctor.resume import Outcome, ResumableRandomSampler, ResumableState, ResumeManager
from tests.resume.loop import BATCHES, EPOCHS, Crash, runs, shard, steps, together, train
from tests.structure.source import ROOT

SIGKILL = -9
SIGXFSZ = -25
STEPS_OF_AN_EPOCH = range(BATCHES, 2 * BATCHES + 1)
"""Steps done at each place of the second epoch, its two ends included."""


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """What the run does when nothing happens to it."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    assert runs(train, folder / "run", folder / "log") == 0
    done = steps(folder / "log")
    assert len(done) == EPOCHS * BATCHES + 1
    return done


@pytest.mark.parametrize("workers", [0, 2, 4])
def test_killed_at_every_step(tmp_path: Path, uninterrupted: dict[str, set[str]], workers: int) -> None:
    """Killed between any two steps of an epoch: same losses, indices and random numbers, bit by bit."""
    folder, log = tmp_path / "run", tmp_path / "log"
    for step in STEPS_OF_AN_EPOCH:
        assert runs(train, folder, log, workers=workers, crash=Crash(step, "after save")) == SIGKILL
    assert runs(train, folder, log, workers=workers) == 0
    assert steps(log) == uninterrupted


@pytest.mark.parametrize("workers", [0, 2])
def test_killed_within_a_step(tmp_path: Path, uninterrupted: dict[str, set[str]], workers: int) -> None:
    """What was not saved is done again, with the same numbers, also where saves are rare."""
    log = tmp_path / "log"
    for step in (4, 6, 7, 10, 12):
        crash = Crash(step, "before step")
        assert runs(train, tmp_path / "run", log, workers=workers, crash=crash, save_every=3) == SIGKILL
    assert runs(train, tmp_path / "run", log, workers=workers, save_every=3) == 0
    assert steps(log) == uninterrupted


def test_killed_at_every_moment_of_a_save(tmp_path: Path, uninterrupted: dict[str, set[str]]) -> None:
    """Whatever a save was about to do when it was killed, the run goes on from a whole checkpoint."""
    for event in range(200):
        folder, log = tmp_path / f"run{event}", tmp_path / f"log{event}"
        code = runs(train, folder, log, crash=Crash(3, "event", event), stop=4)
        if code == 0:
            break
        assert code == SIGKILL
        assert runs(train, folder, log, stop=5) == 0
        done = steps(log)
        assert list(done) == ["1", "2", "3", "4", "5"]
        assert done.items() <= uninterrupted.items()
        assert sorted(path.name for path in folder.iterdir()) == ["step-00000004", "step-00000005"]
    assert event > 5  # imports that a save is the first to need are events, too: their number varies


def test_killed_while_the_file_is_written(tmp_path: Path, uninterrupted: dict[str, set[str]]) -> None:
    """A file of which only the first bytes are on disk is not taken for a checkpoint."""
    log = tmp_path / "log"
    assert runs(train, tmp_path / "run", log, crash=Crash(8, "writing")) == SIGXFSZ
    left = {path.name for path in (tmp_path / "run").iterdir()}
    assert "step-00000008" not in left
    assert "step-00000007" in left
    assert runs(train, tmp_path / "run", log) == 0
    assert steps(log) == uninterrupted


def test_another_number_of_workers(tmp_path: Path, uninterrupted: dict[str, set[str]]) -> None:
    """The number of workers may change at any resume."""
    log = tmp_path / "log"
    for step, workers in ((4, 2), (7, 0), (9, 4), (12, 1)):
        crash = Crash(step, "after save")
        assert runs(train, tmp_path / "run", log, crash=crash, workers=workers) == SIGKILL
    assert runs(train, tmp_path / "run", log) == 0
    assert steps(log) == uninterrupted


def test_persistent_workers(tmp_path: Path) -> None:
    """Workers that live longer than an epoch draw their seed once: a resume between two epochs too."""
    options = {"workers": 1, "persistent": True}
    assert runs(train, tmp_path / "whole", tmp_path / "whole.log", **options) == 0
    for step in (3, BATCHES, 8, 2 * BATCHES):
        crash = Crash(step, "after save")
        assert runs(train, tmp_path / "run", tmp_path / "log", crash=crash, **options) == SIGKILL
    assert runs(train, tmp_path / "run", tmp_path / "log", **options) == 0
    assert steps(tmp_path / "log") == steps(tmp_path / "whole.log")


def test_augmentation_in_the_training_process(tmp_path: Path) -> None:
    """Without workers the global generators cover augmentations too: no SeededDataset is needed."""
    assert runs(train, tmp_path / "whole", tmp_path / "whole.log", seeded=False) == 0
    for step in STEPS_OF_AN_EPOCH:
        crash = Crash(step, "after save")
        assert runs(train, tmp_path / "run", tmp_path / "log", seeded=False, crash=crash) == SIGKILL
    assert runs(train, tmp_path / "run", tmp_path / "log", seeded=False) == 0
    assert steps(tmp_path / "log") == steps(tmp_path / "whole.log")


def ranks_train(folder: Path, count: int = 2, **options: object) -> list[int]:
    """Train with several ranks at once; their exit codes."""
    rendezvous = folder / f"rendezvous{len(list(folder.glob('rendezvous*')))}"
    calls = []
    for rank in range(count):
        own = {"ranks": count, "rank": rank, "rendezvous": rendezvous}
        calls.append((train, (folder / "run", folder / f"log{rank}"), {**options, **own}))
    return together(calls)


@pytest.mark.parametrize("wrap", [None, shard], ids=["ddp", "fully_shard"])
def test_two_ranks(tmp_path: Path, wrap: object) -> None:
    """Two ranks, killed at several steps: each rank's losses and indices as without the kills."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
    assert ranks_train(whole, wrap=wrap, workers=1) == [0, 0]
    for step in (3, 6, 10):
        assert SIGKILL in ranks_train(broken, wrap=wrap, workers=1, crash=Crash(step, "after save"))
    assert ranks_train(broken, wrap=wrap, workers=1) == [0, 0]
    for rank in range(2):
        assert steps(broken / f"log{rank}") == steps(whole / f"log{rank}")


TORCHRUN = """
import os, sys
from pathlib import Path
import torch.distributed as dist
from tests.resume.loop import Crash, train

folder = Path(sys.argv[1])
dist.init_process_group("gloo")
crash = Crash(int(sys.argv[2]), sys.argv[3]) if len(sys.argv) > 2 else None
rank, ranks = dist.get_rank(), dist.get_world_size()
train(folder / "run", folder / f"log{rank}", ranks=ranks, rank=rank, crash=crash)
dist.destroy_process_group()
"""


def torchrun(folder: Path, *arguments: str) -> int:
    """Train under torchrun with two ranks; its exit code."""
    script = folder / "train.py"
    script.write_text(TORCHRUN)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return subprocess.run(
        [*command, str(script), str(folder), *arguments], cwd=ROOT, check=False, capture_output=True
    ).returncode


@pytest.mark.long
@pytest.mark.parametrize("moment", ["after save", "writing"])
def test_torchrun_killed_at_every_step(tmp_path: Path, moment: str) -> None:
    """Under torchrun, each rank's losses and indices after a kill at every step of an epoch, or in a save."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    for folder in (whole, broken):
        folder.mkdir()
    assert torchrun(whole) == 0
    for step in STEPS_OF_AN_EPOCH:
        assert torchrun(broken, str(step), moment) != 0
    assert torchrun(broken) == 0
    for rank in range(2):
        assert steps(broken / f"log{rank}") == steps(whole / f"log{rank}")


def small(
    folder: Path | None = None, *, keep: int | None = 3, samples: int = 12, **parts: object
) -> ResumeManager:
    """A manager of a small model with a loader of three batches."""
    torch.manual_seed(0)
    model = nn.Linear(2, 1)
    data = TensorDataset(torch.arange(2.0 * samples).reshape(samples, 2))
    state = ResumableState(
        model=model,
        optimizer=torch.optim.Adam(model.parameters()),
        loader=DataLoader(data, batch_size=4, sampler=ResumableRandomSampler(data)),
        **parts,  # type: ignore[arg-type]
    )
    return ResumeManager(state, folder, keep=keep)


def take_steps(manager: ResumeManager, count: int) -> None:
    """Train for some steps and save after each."""
    for _ in manager.epochs(100):
        for (x,) in manager.batches():
            assert manager.state.model is not None
            assert manager.state.optimizer is not None
            manager.state.model(x).sum().backward()
            manager.state.optimizer.step()
            manager.state.step += 1
            manager.save()
            count -= 1
            if count == 0:
                return


def test_the_newest_are_kept(tmp_path: Path) -> None:
    """Older checkpoints go, and nothing else stays behind."""
    take_steps(small(tmp_path, keep=2), 5)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["step-00000004", "step-00000005"]


def test_nothing_to_load(tmp_path: Path) -> None:
    """Without a checkpoint the run begins, and nothing is touched."""
    manager = small(tmp_path / "not there")
    assert manager.load() is None
    assert manager.state.step == 0
    assert not (tmp_path / "not there").exists()


@pytest.mark.parametrize("file", ["state.pt", "manifest.json"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "gone"])
def test_damaged_checkpoints_are_passed_over(tmp_path: Path, file: str, damage: str) -> None:
    """A run goes on from the newest checkpoint whose checksums are right, and says what it passed over."""
    take_steps(small(tmp_path), 3)
    path = tmp_path / "step-00000003" / file
    content = bytearray(path.read_bytes())
    if damage == "gone":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    else:
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content)
    manager = small(tmp_path)
    report = manager.load()
    assert report is not None
    assert manager.state.step == report.step == 2
    assert report.checkpoint == str(tmp_path / "step-00000002")
    ((name, why),) = report.passed_over
    assert name == "step-00000003"
    assert file in why
    with pytest.raises(CheckpointError, match="is not whole"):
        manager.load(tmp_path / "step-00000003")


def test_all_damaged(tmp_path: Path) -> None:
    """Where every checkpoint is damaged the run does not begin anew by itself."""
    take_steps(small(tmp_path), 2)
    for path in tmp_path.glob("*/state.pt"):
        path.write_bytes(b"")
    with pytest.raises(CheckpointError, match=r"no checkpoint .* is whole"):
        small(tmp_path).load()


def test_back_to_an_older_step(tmp_path: Path) -> None:
    """After going back to an older checkpoint, the newest is what was saved last, not the highest step."""
    take_steps(small(tmp_path, keep=None), 5)
    manager = small(tmp_path, keep=None)
    manager.load(tmp_path / "step-00000002" / "state.pt")
    take_steps(manager, 1)
    manager = small(tmp_path)
    report = manager.load()
    assert report is not None
    assert report.step == 3
    assert (tmp_path / "step-00000005").is_dir()


def test_the_disk_is_full(tmp_path: Path) -> None:
    """A save that fails raises OSError, and leaves the older checkpoint and the run as they were."""
    log = tmp_path / "log"
    assert runs(fill_the_disk, tmp_path / "run", log) == 0
    assert "cannot be written" in log.read_text()
    assert [path.name for path in (tmp_path / "run").iterdir() if path.suffix != ".tmp"] == ["step-00000001"]
    assert small(tmp_path / "run").load() is not None


def fill_the_disk(folder: Path, log: Path) -> None:
    """Save once, and once more with no room for a file of that size."""
    manager = small(folder)
    take_steps(manager, 1)
    lines = os.open(log, os.O_WRONLY | os.O_CREAT)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    try:
        take_steps(manager, 1)
    except OSError as error:
        os.write(lines, str(error).encode())


def full(folder: Path) -> ResumeManager:
    """A manager that keeps every kind of state."""
    manager = small(folder)
    state = manager.state
    assert state.model is not None
    assert state.optimizer is not None
    state.scheduler = torch.optim.lr_scheduler.StepLR(state.optimizer, 3)
    state.scaler = torch.amp.GradScaler("cpu")
    state.ema = torch.optim.swa_utils.AveragedModel(state.model)
    state.parts = {"noise": torch.Generator().manual_seed(4)}
    return manager


def test_inspect_reads_it(tmp_path: Path) -> None:
    """`ckpt-doctor inspect` finds every state that was captured, and knows whose checkpoint it is."""
    take_steps(full(tmp_path), 2)
    facts = read_checkpoint(str(tmp_path))
    assert facts.path.endswith("step-00000002")
    assert facts.layout == "resume_manager"
    present = {kind for kind, p in facts.states.items() if p.status is PresenceStatus.PRESENT}
    assert set(StateKind) - present == {StateKind.COMPILE_CACHE, StateKind.LOADER_ARGUMENTS}
    assert facts.progress == {"step": 2, "epoch": 0, "position": 8}
    assert not facts.executable_globals
    assert not facts.missing_parts


def test_weights_only(tmp_path: Path) -> None:
    """The file loads with weights_only=True, which runs no code."""
    take_steps(full(tmp_path), 1)
    captured = torch.load(tmp_path / "step-00000001" / "state.pt", weights_only=True)
    assert captured["step"] == 1


def test_capture_and_restore(tmp_path: Path) -> None:
    """What capture gives is a copy; restore brings everything back to it, and says so."""
    manager = full(tmp_path)
    take_steps(manager, 2)
    captured = manager.capture()
    expected = torch.rand(3)
    take_steps(manager, 2)
    report = manager.restore(captured)
    assert report.complete
    assert manager.state.step == 2
    assert torch.equal(torch.rand(3), expected)
    again = manager.capture()
    assert torch.equal(again["model"]["weight"], captured["model"]["weight"])
    assert torch.equal(
        again["optimizer"]["state"][0]["exp_avg"], captured["optimizer"]["state"][0]["exp_avg"]
    )
    assert again["rank_0"]["samples_done"] == captured["rank_0"]["samples_done"] == 8


def test_settings_come_back_with_the_rest(tmp_path: Path) -> None:
    """A run goes on with the backend flags of the save, and says which it has put back."""
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("high")
        take_steps(small(tmp_path), 1)
        torch.set_float32_matmul_precision("highest")
        report = small(tmp_path).load()
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision(before)
    assert report is not None
    part = report.ranks[0].of("flags")
    assert part is not None
    assert "float32_matmul_precision was highest and is high again" in part.notes


def test_the_report_tells_what_is_missing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Parts that only one side has are told of, in the report and in the log."""
    take_steps(small(tmp_path), 1)
    report = full(tmp_path).load()
    assert report is not None
    (rank,) = report.ranks
    outcomes = {part.part: part.outcome for part in rank.parts}
    assert outcomes["scheduler"] is outcomes["parts.noise"] is Outcome.NOT_SAVED
    assert outcomes["model"] is outcomes["optimizer"] is outcomes["torch_rng"] is Outcome.RESTORED
    assert not report.complete
    assert "not saved: scheduler" in caplog.text
    take_steps(full(tmp_path), 2)
    report = small(tmp_path).load()
    assert report is not None
    (rank,) = report.ranks
    assert rank.of("scheduler") is not None
    assert {p.part for p in rank.parts if p.outcome is Outcome.NOT_USED} == {
        "scheduler", "scaler", "ema", "parts.noise",
    }  # fmt: skip
    assert report.complete


def test_stateful(tmp_path: Path) -> None:
    """DCP saves it as any Stateful, and loads it where nothing has stepped yet."""
    import torch.distributed.checkpoint as dcp

    manager = full(tmp_path)
    assert isinstance(manager, Stateful)
    take_steps(manager, 4)
    dcp.save({"run": manager}, checkpoint_id=tmp_path / "dcp", no_dist=True)
    expected = manager.capture()
    other = full(tmp_path)
    assert not other.state.optimizer.state  # type: ignore[union-attr]
    dcp.load({"run": other}, checkpoint_id=tmp_path / "dcp", no_dist=True)
    assert not differences(expected, other.capture())


def differences(one: object, other: object, where: str = "") -> list[str]:
    """Places where two captured states differ."""
    if isinstance(one, torch.Tensor):
        return [] if isinstance(other, torch.Tensor) and torch.equal(one, other) else [where]
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [] if list(one) == list(other) else [where]
        return keys + [d for key in one for d in differences(one[key], other.get(key), f"{where}.{key}")]
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        return [
            d
            for i, pair in enumerate(zip(one, other, strict=True))
            for d in differences(*pair, f"{where}[{i}]")
        ]
    return [] if one == other else [where]


def test_an_epoch_that_is_left_early() -> None:
    """Leaving the loop begins the next epoch; the batches left over are not given out in it."""
    manager = small()
    seen = []
    for epoch in manager.epochs(2):
        for (x,) in manager.batches():
            seen.append((epoch, x[0, 0].item()))
            break
    assert [epoch for epoch, _ in seen] == [0, 1]
    assert manager.state.epoch == 2


def test_saved_after_the_last_batch(tmp_path: Path) -> None:
    """A save in the last batch's body resumes at the epoch's end; one after the loop, in the next epoch."""
    manager = small(tmp_path)
    take_steps(manager, 3)
    resumed = small(tmp_path)
    resumed.load()
    assert resumed.state.epoch == 0
    assert list(resumed.batches()) == []
    assert resumed.state.epoch == 1
    resumed.save()
    again = small(tmp_path)
    again.load()
    assert again.state.epoch == 1
    assert len(list(again.batches())) == 3


def test_wrong_use(tmp_path: Path) -> None:
    """Mistakes are told in one line that says what to do."""
    with pytest.raises(UsageError, match="keep=0"):
        small(tmp_path, keep=0)
    with pytest.raises(UsageError, match="no folder"):
        small().save()
    with pytest.raises(UsageError, match="no loader"):
        next(ResumeManager(ResumableState()).batches())
    with pytest.raises(CheckpointError, match="not made by ResumeManager"):
        small().restore({"model": {}})
    with pytest.raises(CheckpointError, match="over 12 samples"):
        small(samples=16).restore(small().capture())
