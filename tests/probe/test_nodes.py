"""A job that is started in several parts is recorded in one folder, and read as one run."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ckpt_doctor.errors import InputError
from ckpt_doctor.probe.nodes import output_folder, part_name
from ckpt_doctor.readers.recordings import is_recording, read_recording
from tests.recorded import TRAIN, environment

RECORD = (
    "import sys; from pathlib import Path; from ckpt_doctor.probe.recorder import run_recorded\n"
    "sys.exit(run_recorded(sys.argv[2:], Path(sys.argv[1])))\n"
)
HOST = socket.gethostname()


@pytest.mark.parametrize(
    ("command", "environment", "part"),
    [
        ("torchrun --nproc-per-node 8 train.py", {}, None),
        ("torchrun --nnodes 1 --node-rank 0 train.py", {}, None),
        ("torchrun --nnodes=2 --node-rank=1 train.py", {}, "part-1"),
        ("torchrun --nnodes 2 --node_rank 0 train.py", {}, "part-0"),
        ("torchrun --nnodes 1:4 --rdzv-endpoint host:1 train.py", {}, f"part-{HOST}"),
        ("torchrun --nnodes 2 train.py", {"PET_NODE_RANK": "1"}, "part-1"),
        ("accelerate launch --num_machines 2 --machine_rank 1 train.py", {}, "part-1"),
        ("python train.py --nnodes 2 --node-rank 1", {}, None),
        ("python train.py", {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4"}, "part-3"),
        ("python train.py", {"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "1"}, None),
        ("python train.py", {"SLURM_PROCID": "2", "SLURM_NTASKS": "4"}, "part-2"),
        ("python train.py", {"SLURM_PROCID": "0"}, None),
        ("torchrun train.py", {"PET_NNODES": "2", "PET_NODE_RANK": "1"}, "part-1"),
        ("torchrun --nnodes many train.py", {}, None),
    ],
)
def test_the_part_of_a_job(command: str, environment: dict[str, str], part: str | None) -> None:
    """A part is named by its launcher's own number, and a job that has only one has no parts."""
    assert part_name(command.split(), environment) == part


def test_two_launchers_without_a_number(tmp_path: Path) -> None:
    """On one host they still get folders of their own."""
    command = ["torchrun", "--nnodes", "2", "train.py"]
    folders = [output_folder(tmp_path / "rec", command, {}) for _ in range(2)]
    assert [folder.name for folder in folders] == [f"part-{HOST}", f"part-{HOST}-2"]


@pytest.mark.parametrize("finished", ["trailer.json", "recording.json", "part-0/trailer.json"])
def test_a_finished_recording(tmp_path: Path, finished: str) -> None:
    """Yesterday's recording is not mixed with today's."""
    (tmp_path / finished).parent.mkdir(exist_ok=True)
    (tmp_path / finished).write_text("{}")
    with pytest.raises(InputError, match="finished recording"):
        output_folder(tmp_path, ["torchrun", "--nnodes", "2", "--node-rank", "1", "train.py"], {})


def test_two_agents_on_loopback(tmp_path: Path) -> None:
    """Two torchrun agents, each under a recorder, make one recording with a rank of each."""
    pytest.importorskip("torch.distributed")
    (tmp_path / "train.py").write_text(TRAIN)
    port = _free_port()
    recorders = [_recorder(tmp_path, node, port) for node in range(2)]
    assert [process.wait(timeout=180) for process in recorders] == [0, 0]
    assert is_recording(tmp_path / "rec")
    run = read_recording(tmp_path / "rec")
    assert [(rank.rank, len(rank.steps), rank.complete) for rank in run.ranks] == [
        (0, 14, True),
        (1, 14, True),
    ]
    assert (run.meta.path, run.meta.complete, run.meta.exit_code) == (str(tmp_path / "rec"), True, 0)


def test_a_part_that_was_cut_short(tmp_path: Path, record_folder: Path) -> None:
    """The whole is incomplete where one of its parts is."""
    for part in ("part-0", "part-1"):
        shutil.copytree(record_folder, tmp_path / part)
    (tmp_path / "part-1/trailer.json").unlink()
    run = read_recording(tmp_path)
    assert not run.meta.complete
    assert run.meta.ended_by is None
    assert len(run.ranks) == 2


@pytest.fixture(scope="module")
def record_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The recording of a whole run of one process."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "train.py").write_text(TRAIN)
    command = [sys.executable, "-c", RECORD, str(folder / "rec"), sys.executable, str(folder / "train.py")]
    subprocess.run(command, env=environment(), check=True, timeout=120)
    return folder / "rec"


def _recorder(folder: Path, node: int, port: int) -> subprocess.Popen[bytes]:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--node-rank", str(node)]
    address = ["--master-addr", "127.0.0.1", "--master-port", str(port), "--nproc-per-node", "1"]
    command = [*launcher, *address, str(folder / "train.py")]
    return subprocess.Popen([sys.executable, "-c", RECORD, str(folder / "rec"), *command], env=environment())


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
