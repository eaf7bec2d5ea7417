"""What a run reads and writes is noted, and files that were there before are kept from harm."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ckpt_doctor.agent.options import AgentOptions
from ckpt_doctor.facts.recording import FILES
from tests.recorded import run_inside

CONTENT = b"precious" * 100

DESTROYING = {
    "open for writing": "open('old/file.pt', 'w')",
    "pathlib": "import pathlib; pathlib.Path('old/file.pt').write_bytes(b'')",
    "os.open": "os.open('old/file.pt', os.O_WRONLY | os.O_TRUNC)",
    "remove": "os.remove('old/file.pt')",
    "unlink in an open folder": "os.unlink('file.pt', dir_fd=os.open('old', os.O_RDONLY))",
    "replace": "open('new', 'w').close(); os.replace('new', 'old/file.pt')",
    "replace in an open folder": (
        "open('new', 'w').close(); os.replace('new', 'file.pt', dst_dir_fd=os.open('old', os.O_RDONLY))"
    ),
    "move away": "os.rename('old/file.pt', 'elsewhere')",
    "move its folder away": "os.rename('old', 'elsewhere')",
    "truncate": "os.truncate('old/file.pt', 0)",
    "truncate an open file": "os.ftruncate(os.open('old/file.pt', os.O_RDWR), 0)",
    "rmtree": "import shutil; shutil.rmtree('old')",
    "rmtree that ignores errors": "import shutil; shutil.rmtree('old', ignore_errors=True)",
    "through a link": "os.symlink('old/file.pt', 'link'); open('link', 'wb')",
    "copy onto": "import shutil; open('new', 'w').close(); shutil.copyfile('new', 'old/file.pt')",
    "numpy": "import numpy; numpy.save('old/file.npy', numpy.zeros(2))",
}

HARMLESS = {
    "append": "open('old/file.pt', 'ab').write(b'more')",
    "read and write": "open('old/file.pt', 'r+b').close()",
    "made since": "open('new', 'w').close(); open('new', 'w').close(); os.remove('new')",
    "a folder made since": "import shutil; os.makedirs('a/b'); open('a/c', 'w').close(); shutil.rmtree('a')",
    "replaced, made since": "open('a', 'w').close(); open('b', 'w').close(); os.replace('a', 'b')",
    "a compiler's cache": "open('cache/kernel', 'w').close(); os.remove('cache/kernel')",
    "a cache by its name": "open('old/__pycache__/m.pyc', 'w').close()",
    "a lock": "open('old/file.lock', 'w').close()",
    "missing": "import contextlib\nwith contextlib.suppress(OSError): os.remove('old/nothing')",
    "a device": "open('/dev/null', 'w').close()",
    "a failed rmtree": "import shutil; shutil.rmtree('nothing', ignore_errors=True)",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files that were there before."""
    for name in ("old/file.pt", "old/file.npy", "old/file.lock", "old/__pycache__/m.pyc", "cache/kernel"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(CONTENT)
    return tmp_path


def run(folder: Path, source: str, **options: object) -> tuple[int, str, list[list[str]]]:
    """Run a script in the folder; returns its exit code, its errors, and the lines of the log."""
    (folder / "train.py").write_text(f"import os\n{source}\nprint('went on')\n")
    time.sleep(0.02)  # file systems stamp files with a coarse clock
    defaults: dict[str, object] = {"protect_since": time.time(), "watch_files": True}
    agent = AgentOptions(str(folder / "rec"), **{**defaults, **options})  # type: ignore[arg-type]
    time.sleep(0.02)
    result = run_inside(folder, "train.py", options=agent, TORCHINDUCTOR_CACHE_DIR=str(folder / "cache"))
    log = folder / "rec" / FILES
    lines = [line.split("\t") for line in log.read_text().splitlines()] if log.exists() else []
    return result.returncode, result.stderr, lines


@pytest.mark.parametrize("source", DESTROYING.values(), ids=DESTROYING.keys())
def test_a_file_that_was_there_before_is_not_touched(folder: Path, source: str) -> None:
    """The process is killed before it destroys the file, which stays byte for byte; the log names it."""
    if "numpy" in source:
        pytest.importorskip("numpy")
    code, errors, lines = run(folder, source)
    assert code == -signal.SIGKILL, errors
    assert (folder / "old/file.pt").read_bytes() == CONTENT
    assert (folder / "old/file.npy").read_bytes() == CONTENT
    (violation,) = [line for line in lines if line[0] == "v"]
    assert violation[1] in ("overwrite", "delete", "move")
    assert Path(violation[2]).parent.resolve() == folder / "old"


@pytest.mark.parametrize("source", HARMLESS.values(), ids=HARMLESS.keys())
def test_harmless_writing_goes_on(folder: Path, source: str) -> None:
    """Appending, the run's own files, caches and locks are the script's own affair."""
    code, errors, lines = run(folder, source)
    assert (code, errors) == (0, "")
    assert [line for line in lines if line[0] == "v"] == []
    assert (folder / "old/file.pt").read_bytes().startswith(CONTENT)


@pytest.mark.parametrize(
    "source",
    [
        "import torch; torch.save([1], 'old/file.pt')",
        "import torch; torch.save([1], open('old/file.pt', 'wb'))",
        "import torch, threading\n"
        "thread = threading.Thread(target=torch.save, args=([1], 'old/file.pt'))\n"
        "thread.start(); thread.join()",
        "import torch, safetensors.torch as st; st.save_file({'a': torch.ones(1)}, 'old/file.pt')",
    ],
    ids=["torch.save", "torch.save to a file object", "torch.save in a thread", "safetensors"],
)
def test_savers_that_write_in_native_code(folder: Path, source: str) -> None:
    """torch.save and safetensors open files where no audit hook sees it, and are stopped all the same."""
    if "safetensors" in source:
        pytest.importorskip("safetensors")
    code, errors, lines = run(folder, source)
    assert code == -signal.SIGKILL, errors
    assert (folder / "old/file.pt").read_bytes() == CONTENT
    assert lines[-1] == ["v", "overwrite", str(folder / "old/file.pt")]


def test_a_file_that_was_appended_to_is_still_the_users(folder: Path) -> None:
    """Appending makes a file look new; deleting it afterwards is stopped all the same."""
    code, _, _ = run(folder, "with open('old/file.pt', 'ab') as f: f.write(b'x')\nos.remove('old/file.pt')")
    assert code == -signal.SIGKILL
    assert (folder / "old/file.pt").read_bytes() == CONTENT + b"x"


@pytest.mark.parametrize("source", ["os.remove('old/link')", "open('n', 'w'); os.replace('n', 'old/link')"])
def test_links_are_the_users_too(folder: Path, source: str) -> None:
    """A link that was there before is not taken away."""
    (folder / "old/link").symlink_to("file.pt")
    code, _, _ = run(folder, source)
    assert code == -signal.SIGKILL
    assert (folder / "old/link").readlink() == Path("file.pt")


def test_unprotected(folder: Path) -> None:
    """Where overwriting is allowed, the script goes on."""
    code, _, lines = run(folder, "open('old/file.pt', 'w').close()", protect_since=None)
    assert code == 0
    assert ["w", str(folder / "old/file.pt")] in lines
    assert (folder / "old/file.pt").read_bytes() == b""


def test_what_is_noted(folder: Path) -> None:
    """Reads once for each file, writes and moves each time; source files and system files not at all."""
    source = (
        "for _ in range(3): open('old/file.pt').close()\n"
        "for _ in range(2): open('new', 'w').close()\n"
        "os.replace('new', 'newer')\n"
        "open('/proc/self/stat').close(); open('train.py').close()\n"
        "open(os.open('old/file.npy', os.O_RDONLY)).close()\n"
    )
    _, _, lines = run(folder, source)
    name: Callable[[str], str] = lambda text: str(folder / text)  # noqa: E731
    assert [line for line in lines if line[-1].startswith(str(folder))] == [
        ["r", name("old/file.pt")],
        ["w", name("new")],
        ["w", name("new")],
        ["m", name("new"), name("newer")],
        ["r", name("old/file.npy")],
    ]


def test_folders_whose_names_begin_alike(folder: Path) -> None:
    """A folder beside the recording whose name only begins like it is protected and noted."""
    beside = folder / "rec-old"
    beside.mkdir()
    (beside / "file.pt").write_bytes(CONTENT)
    code, _, lines = run(folder, "open('rec-old/file.pt').close(); os.remove('rec-old/file.pt')")
    assert code == -signal.SIGKILL
    assert ["r", str(beside / "file.pt")] in lines
    assert os.path.exists(beside / "file.pt")
