"""Changes bytes of real checkpoints and reads them: ``python -m tests.readers.fuzz 10000``.

Each is inspected as from the shell, in one process: it must give a report or one line of what is wrong,
with an exit code of 0, 1 or 2, within the time, write no file and import no torch. The files are those of
``fixtures/checkpoints`` and, where it is at hand, of the corpus.
"""

from __future__ import annotations

import io
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

from ckpt_doctor.cli.app import run as run_command
from ckpt_doctor.cli.exit_codes import ExitCode

ROOT = Path(__file__).parents[2]
SOURCES = (ROOT / "fixtures" / "checkpoints", ROOT.parent / "shared" / "corpus" / "out")
MOST_SECONDS = 5.0
MOST_FILE_BYTES = 400_000
FOLDER_SHARE = 0.2
OPCODES = b".()]}tsuaebRcQhqrX\x85\x86\x87\x94\x81N012"


@dataclass
class Outcome:
    """What came of the mutations."""

    read: int = 0
    declined: int = 0
    slowest_s: float = 0.0
    failures: list[str] = field(default_factory=list)


def run(count: int, seed: int, folder: Path) -> Outcome:
    """Read ``count`` mutations, made in ``folder``."""
    chance = random.Random(seed)
    files = [path for source in SOURCES for path in sorted(source.rglob("*")) if _is_usable(path)]
    folders = sorted(
        {path.parent for path in files if path.name in ("trainer_state.json", ".metadata", "CKPT.yaml")}
    )
    outcome = Outcome()
    for number in range(count):
        if folders and chance.random() < FOLDER_SHARE:
            target = _mutated_folder(chance.choice(folders), folder / "folder", chance)
        else:
            target = folder / "file"
            target.write_bytes(mutated(chance.choice(files).read_bytes(), chance))
        _try(target, f"seed {seed}, mutation {number}", outcome)
    return outcome


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The bytes with some of them changed, moved, left out or cut off; mostly near a pickle's start."""
    changed = bytearray(data)
    if chance.random() < 0.1:
        return bytes(changed[: chance.randrange(len(changed) + 1)])
    start = max(0, data.find(b"\x80")) if chance.random() < 0.8 else 0
    for _ in range(chance.choice((1, 1, 2, 4, 8))):
        if len(changed) < 2:
            break
        at = min(start + int(chance.random() ** 2 * (len(changed) - start)), len(changed) - 1)
        _change(changed, at, chance)
    return bytes(changed)


def _change(data: bytearray, at: int, chance: random.Random) -> None:
    way = chance.random()
    if way < 0.5:
        data[at] = chance.randrange(256)
    elif way < 0.75:
        data[at] = chance.choice(OPCODES)
    elif way < 0.9:
        length = chance.randrange(1, 40)
        other = chance.randrange(len(data))
        data[at : at + length] = data[other : other + length]
    else:
        del data[at]


def _is_usable(path: Path) -> bool:
    return path.is_file() and path.suffix != ".py" and 0 < path.stat().st_size <= MOST_FILE_BYTES


def _mutated_folder(source: Path, target: Path, chance: random.Random) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    names = [path.name for path in sorted(source.iterdir()) if _is_usable(path)]
    changed = chance.choice(names)
    for name in names:
        data = (source / name).read_bytes()
        (target / name).write_bytes(mutated(data, chance) if name == changed else data)
    return target


def _try(target: Path, what: str, outcome: Outcome) -> None:
    """Inspect it as from the shell, every other time in JSON."""
    out, err = io.StringIO(), io.StringIO()
    there = set(target.parent.rglob("*"))
    options = [] if (outcome.read + outcome.declined) % 2 else ["--format", "json"]
    start = time.process_time()
    with redirect_stdout(out), redirect_stderr(err):
        code = run_command(["inspect", *options, str(target)])
    seconds = time.process_time() - start
    outcome.slowest_s = max(outcome.slowest_s, seconds)
    if code == ExitCode.COULD_NOT_RUN:
        outcome.declined += 1
    else:
        outcome.read += 1
    outcome.failures += [f"{what}: {wrong}" for wrong in _wrongs(code, out.getvalue(), err.getvalue())]
    if seconds > MOST_SECONDS:
        outcome.failures.append(f"{what}: took {seconds:.1f} s")
    if set(target.parent.rglob("*")) != there:
        outcome.failures.append(f"{what}: files came or went")


def _wrongs(code: int, out: str, err: str) -> list[str]:
    """What is wrong with an answer: an exit code, more than one clean line and a hint, a crash."""
    wrongs = []
    if code not in (ExitCode.OK, ExitCode.FINDINGS, ExitCode.COULD_NOT_RUN):
        wrongs.append(f"exit code {code}")
    if "Traceback" in out + err or "internal error" in err:
        wrongs.append(err)
    lines = err.splitlines()
    if code == ExitCode.COULD_NOT_RUN and (out or not 1 <= len(lines) <= 2):
        wrongs.append(f"not one line and a hint: {err!r}")
    if not all(line.isprintable() for line in lines):
        wrongs.append(f"not clean: {err!r}")
    if code != ExitCode.COULD_NOT_RUN and not out:
        wrongs.append("no report")
    return wrongs


def main(arguments: Sequence[str]) -> int:
    """Run as many mutations as asked for and say what came of them."""
    count = int(arguments[0]) if arguments else 10_000
    seed = int(arguments[1]) if len(arguments) > 1 else 0
    with tempfile.TemporaryDirectory() as folder:
        outcome = run(count, seed, Path(folder))
    if "torch" in sys.modules:
        outcome.failures.append("torch was imported")
    sys.stdout.write("\n".join([*outcome.failures, ""]))
    sys.stdout.write(
        f"{count} mutations: {outcome.read} read, {outcome.declined} declined, "
        f"{len(outcome.failures)} failures, the slowest {outcome.slowest_s:.2f} s\n"
    )
    return 1 if outcome.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
