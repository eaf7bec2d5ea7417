"""Which part of a job is recorded here, where the same command runs on several nodes.

A job whose ranks are started one by one (mpirun, srun), or by one launcher a node (torchrun, accelerate),
has a recorder beside each start. All write below one shared folder, each into a part of its own.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ckpt_doctor.errors import InputError
from ckpt_doctor.facts.recording import HEADER, PART_PREFIX, TRAILER
from ckpt_doctor.probe.recording import new_folder

TASKS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
    ("PET_NODE_RANK", "PET_NNODES"),
)
"""Variables of launchers that start this recorder several times: its number, and how many there are."""
NODE_COUNTS = ("--nnodes", "--num_machines", "--num-machines")
NODE_RANKS = ("--node-rank", "--node_rank", "--machine_rank", "--machine-rank")
"""Arguments of torchrun and accelerate."""


def output_folder(output: Path, command: Sequence[str], environment: Mapping[str, str]) -> Path:
    """Make the folder for what is recorded here.

    Returns:
        The absolute path of ``output``, or of a part in it where the job has several.

    Raises:
        InputError: It cannot be made, or holds a recording of something else.
    """
    part = part_name(command, environment)
    if part is None:
        return new_folder(output)
    top = output.absolute()
    if any((top / name).exists() for name in (HEADER, TRAILER)) or any(top.glob(f"{PART_PREFIX}*/{TRAILER}")):
        raise InputError(f"{output} holds a finished recording", hint="give a new folder for each job")
    return _new_part(top, part)


def part_name(command: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """Name of this part of a job, as ``part-3``; None for a job that has one part only."""
    arguments = dict(_launcher_arguments(command))
    count = next((arguments[name] for name in NODE_COUNTS if name in arguments), "1")
    if _most(count) > 1:
        number = next((arguments[name] for name in NODE_RANKS if name in arguments), None)
        # Without a number the launchers find their order by a rendezvous of their own.
        return f"{PART_PREFIX}{number or environment.get('PET_NODE_RANK') or socket.gethostname()}"
    for number_name, count_name in TASKS:
        if environment.get(number_name) and _most(environment.get(count_name, "1")) > 1:
            return f"{PART_PREFIX}{environment[number_name]}"
    return None


def _launcher_arguments(command: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The launcher's own arguments: those before the script."""
    for word, following in zip(command, [*command[1:], ""], strict=True):
        if word.endswith(".py"):
            return
        name, equals, value = word.partition("=")
        if name.startswith("--"):
            yield name, value if equals else following


def _most(count: str) -> int:
    """The larger number of ``2`` or ``1:4``; 1 for what is no number."""
    last = count.rpartition(":")[2]
    return int(last) if last.isdigit() else 1


def _new_part(top: Path, part: str) -> Path:
    """Make the part's folder; a second launcher on the same host, without a number, gets one of its own."""
    for suffix in ("", *(f"-{number}" for number in range(2, 100))):
        folder = top / f"{part}{suffix}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise InputError(f"{folder}: {error.strerror}", hint="give a folder that can be made") from error
        return folder
    raise InputError(f"{top} holds a hundred recordings of {part}", hint="give a new folder for each job")
