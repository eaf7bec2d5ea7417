"""Checkpoints in a bucket, served by an S3 server on loopback, and in fsspec's own memory."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from ckpt_doctor import units
from ckpt_doctor.errors import CheckpointError
from ckpt_doctor.facts.states import PresenceStatus, StateKind
from ckpt_doctor.readers import inspection
from ckpt_doctor.readers.inspection import read_all, read_checkpoint
from tests.readers.loopback import BUCKET, Bucket, served

fsspec = pytest.importorskip("fsspec")

FIXTURES = Path(__file__).parents[2] / "fixtures" / "checkpoints"
LARGE_BYTES = 96 << 20
GIGABYTE = 10**9
MOST_FETCHED_BYTES = 192 << 10


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """An empty bucket of a server that speaks S3."""
    pytest.importorskip("s3fs")
    server_module = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "testing")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_ENDPOINT_URL_S3", endpoint)
        boto3.client("s3", endpoint_url=endpoint).create_bucket(Bucket="runs")
        yield "s3://runs"
    server.stop()


def put(address: str, data: bytes) -> None:
    """Write a file at an address."""
    with fsspec.open(address, "wb") as file:
        file.write(data)


def present(address: str) -> set[str]:
    """Names of the states that a checkpoint has."""
    states = read_checkpoint(address).states
    return {kind.value for kind, p in states.items() if p.status is PresenceStatus.PRESENT}


def test_a_file_in_a_bucket(bucket: str) -> None:
    """A file gives the same facts there as on the disk."""
    put(f"{bucket}/a/complete.pt", (FIXTURES / "complete.pt").read_bytes())
    there, here = read_checkpoint(f"{bucket}/a/complete.pt"), read_checkpoint(str(FIXTURES / "complete.pt"))
    assert there.states == here.states
    assert there.tensors == here.tensors


def test_little_of_a_large_object_is_transferred(bucket: str, tmp_path: Path) -> None:
    """What is fetched does not follow the size of the tensors: far less than a percent of a gigabyte."""
    path = tmp_path / "large.pt"
    with torch.serialization.skip_data():
        torch.save({"model": {"w": torch.empty(LARGE_BYTES // 4)}, "step": 3}, path)
    fsspec.filesystem("s3").put(str(path), "runs/large.pt")
    facts = read_checkpoint(f"{bucket}/large.pt")
    assert facts.size_bytes > LARGE_BYTES
    assert facts.read_bytes < MOST_FETCHED_BYTES
    assert facts.progress == {"step": 3}


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bucket]:
    """A bucket with objects of a gigabyte; their tensors are holes on the disk."""
    folder = tmp_path_factory.mktemp("bucket")
    with torch.serialization.skip_data():
        state = {f"layers.{i}.weight": torch.empty(GIGABYTE // 400) for i in range(100)}
        torch.save({"model": state, "step": 3}, folder / "large.pt")
    with (folder / "large.safetensors").open("wb") as file:
        entry = {"dtype": "F32", "shape": [GIGABYTE // 4], "data_offsets": [0, GIGABYTE]}
        header = json.dumps({"weight": entry}).encode()
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + GIGABYTE)
    with served(folder) as server:
        yield server


@pytest.mark.parametrize("name", ["large.pt", "large.safetensors"])
def test_a_percent_of_a_gigabyte_at_most(large: Bucket, name: str) -> None:
    """Text and JSON tell the bytes that the server handed out: at most a percent of the object."""
    pytest.importorskip("s3fs")

    def inspected(*options: str) -> tuple[str, int]:
        before = large.sent_bytes
        command = [sys.executable, "-m", "ckpt_doctor", "inspect", *options, f"s3://{BUCKET}/{name}"]
        environment = {**os.environ, **large.environment}
        result = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        return result.stdout, large.sent_bytes - before

    text, sent_bytes = inspected("--format", "json")
    checkpoint = json.loads(text)["checkpoints"][0]
    assert checkpoint["size_bytes"] > GIGABYTE
    assert 0 < checkpoint["read_bytes"] == sent_bytes <= GIGABYTE / 100
    text, sent_bytes = inspected()
    assert sent_bytes <= GIGABYTE / 100
    assert f"of which {units.size(sent_bytes)} transferred)" in " ".join(text.split())


def test_the_newest_of_a_series_in_a_bucket(bucket: str) -> None:
    """Folders and series are understood there too."""
    for step in (500, 1000):
        state: dict[str, Any] = {"optimizer.pt": "plain.pt", "model.safetensors": "weights.safetensors"}
        for name, source in state.items():
            put(f"{bucket}/run/checkpoint-{step}/{name}", (FIXTURES / source).read_bytes())
    facts = read_checkpoint(f"{bucket}/run")
    assert facts.path == f"{bucket}/run/checkpoint-1000"
    assert facts.states[StateKind.MODEL].status is PresenceStatus.PRESENT


@pytest.mark.parametrize("address", ["s3://runs/nothing.pt", "s3://no-such-bucket/x.pt"])
def test_what_is_not_there_is_told_in_one_line(bucket: str, address: str) -> None:
    """A missing object or bucket is one line that names the address."""
    with pytest.raises(CheckpointError) as caught:
        read_checkpoint(address)
    assert address in caught.value.what
    assert "\n" not in caught.value.what


def test_any_file_system_of_fsspec() -> None:
    """Addresses of other kinds work alike."""
    put("memory://run/plain.pt", (FIXTURES / "plain.pt").read_bytes())
    assert present("memory://run/plain.pt") == {"model", "optimizer", "step"}
    assert present("memory://run") == {"model", "optimizer", "step"}


def test_an_unknown_kind_of_address() -> None:
    """A protocol that nobody knows is one line."""
    with pytest.raises(CheckpointError, match="nosuch"):
        read_checkpoint("nosuch://bucket/x.pt")


def test_many_addresses_keep_their_order(bucket: str) -> None:
    """Each result stands at the place of its address, and an error does not end the others."""
    good = (FIXTURES / "complete.pt").read_bytes()
    for number in range(10):
        put(f"{bucket}/many/{number}.pt", good)
    addresses = [f"{bucket}/many/{number}.pt" for number in range(10)]
    results = read_all([*addresses[:5], f"{bucket}/many/none.pt", *addresses[5:]])
    assert isinstance(results[5], CheckpointError)
    assert [r.path for r in results if not isinstance(r, CheckpointError)] == addresses


def test_addresses_are_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four reads wait for each other: one after the other, the first would wait in vain."""
    together = threading.Barrier(4, timeout=20)

    def read(path: str) -> object:
        together.wait()
        return path

    monkeypatch.setattr(inspection, "read_checkpoint", read)
    addresses = [f"memory://{number}.pt" for number in range(4)]
    assert read_all(addresses) == addresses
