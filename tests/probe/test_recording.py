"""The doctor's side of a recording folder."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from ckpt_doctor.errors import InputError, RecordingError
from ckpt_doctor.facts.recording import RECORDING_KIND as KIND
from ckpt_doctor.facts.run import HostSample
from ckpt_doctor.probe.recording import RecordingWriter, new_folder
from ckpt_doctor.readers import recordings

HOST = HostSample(1.0, 2.0, None, None, None, None, None)


def test_the_header_is_there_first(tmp_path: Path) -> None:
    """A folder with a header and no trailer is a recording that was cut short."""
    RecordingWriter(tmp_path / "a/b", ["python", "train.py"], None, {"x": 1})
    header = json.loads((tmp_path / "a/b/recording.json").read_text())
    assert header == {
        **header,
        "kind": KIND,
        "command": ["python", "train.py"],
        "arm": None,
        "options": {"x": 1},
    }
    assert Path(header["cwd"]).is_absolute()
    assert [path.name for path in (tmp_path / "a/b").iterdir()] == ["recording.json"]


def test_lines_of_several_threads_stay_whole(tmp_path: Path) -> None:
    """Samples and turns may come from any thread."""
    writer = RecordingWriter(tmp_path / "r", [], None, {})

    def write() -> None:
        for _ in range(50):
            writer.add_sample(None, HOST)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (tmp_path / "r/samples.jsonl").read_text().splitlines()
    assert len(lines) == 200
    assert all(json.loads(line)[0] == "host" for line in lines)


def test_a_new_folder(tmp_path: Path) -> None:
    """A folder is made, with those above it; an empty one is taken as it is; the path becomes absolute."""
    assert new_folder(tmp_path / "a/b") == new_folder(tmp_path / "a/b") == tmp_path / "a/b"
    assert (tmp_path / "a/b").is_dir()


@pytest.mark.parametrize("name", ["full", "file", "file/below"])
def test_a_folder_that_cannot_be_used(tmp_path: Path, name: str) -> None:
    """One that holds something, a file, and a place below a file are refused by name."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full/x").touch()
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=str(tmp_path / name)) as refused:
        new_folder(tmp_path / name)
    assert refused.value.hint


def test_writer_and_reader_agree(tmp_path: Path) -> None:
    """What is written is taken for a recording, of the kind and version that the reader knows."""
    RecordingWriter(tmp_path / "r", ["python", "train.py"], None, {})
    header = json.loads((tmp_path / "r/recording.json").read_text())
    assert (header["kind"], header["version"]) == ("ckpt-doctor recording", 2)
    assert recordings.is_recording(tmp_path / "r")
    with pytest.raises(RecordingError, match="no optimizer step was recorded"):
        recordings.read_recording(tmp_path / "r")
