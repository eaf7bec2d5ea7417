"""Reads a recording folder: what the agent and the samplers wrote about one run.

Layout and line formats are those of ``agent.journal`` and ``probe.recording``. A recording of a run
that was killed is read up to its last whole line, and says that it is incomplete.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from ckpt_doctor.errors import RecordingError
from ckpt_doctor.facts.moments import OBSERVER
from ckpt_doctor.facts.recording import (
    FILES,
    HEADER,
    HOLD,
    JOURNAL_KIND,
    PART_PREFIX,
    RECORDING_KIND,
    RECORDING_VERSION,
    SAMPLES,
    TRAILER,
    TURNS,
)
from ckpt_doctor.facts.run import (
    PARTS,
    Event,
    Fingerprint,
    HostSample,
    LeftOver,
    ProcessSample,
    RankRecord,
    RunMeta,
    RunRecord,
    SourceLine,
    StackProfile,
    StepSeries,
    Turn,
)
from ckpt_doctor.readers.moments import Lap, Laps

KNOWN_VERSIONS = (RECORDING_VERSION,)

_DIGEST_KINDS = {"i": "indices", "b": "batches", "m": "batches"}
"""Kinds of digests (see agent.journal), best first."""

_LIBRARY = re.compile(
    r"site-packages|dist-packages|/lib/python3|^<|/ckpt_doctor/agent/|/ckpt_doctor/signals/"
)


def read_recording(path: str | Path) -> RunRecord:
    """Read one recording folder; the parts of a job that was recorded on several nodes become one run.

    Raises:
        RecordingError: It is no recording, of an unknown version, damaged, or holds no training process.
    """
    folder = Path(path)
    parts = _parts(folder)
    return merge(str(folder), [_read_part(part) for part in parts]) if parts else _read_part(folder)


def merge(path: str, parts: Sequence[RunRecord]) -> RunRecord:
    """One run of the parts of a job, with the ranks of all.

    The clocks of two nodes have nothing in common, so the samples of processes and machine are those of
    one part: the one that holds the lowest rank.
    """
    first = min(parts, key=lambda part: part.ranks[0].rank)
    failed = [part.meta for part in parts if not part.meta.complete or part.meta.exit_code]
    worst = next(iter(failed), first.meta)
    return replace(
        first,
        meta=replace(
            first.meta,
            path=path,
            complete=all(part.meta.complete for part in parts),
            ended_by=worst.ended_by,
            exit_code=worst.exit_code,
        ),
        ranks=tuple(sorted((r for part in parts for r in part.ranks), key=lambda r: (r.rank, r.node))),
    )


def _read_part(folder: Path) -> RunRecord:
    header = _header(folder)
    try:
        return _read(folder, header)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise RecordingError(
            f"{folder}: the recording is damaged ({type(error).__name__}: {error})",
            hint="record the run again",
        ) from error


def _read(folder: Path, header: Mapping[str, Any]) -> RunRecord:
    trailer = _object(folder / TRAILER)
    ranks = _ranks(folder)
    if not ranks:
        raise RecordingError(
            f"{folder}: no optimizer step was recorded",
            hint="the script must train with an optimizer of torch.optim, in Python",
        )
    samples = list(_lines(folder / SAMPLES))
    read, written = _files(folder, ranks)
    return RunRecord(
        meta=_meta(folder, header, trailer),
        ranks=ranks,
        samples=tuple(ProcessSample(*line[1:]) for line in samples if line[0] == "tree"),
        host=tuple(HostSample(*line[1:]) for line in samples if line[0] == "host"),
        turns=tuple(Turn(*line[1:]) for line in _lines(folder / TURNS)),
        stacks=tuple(_stacks(folder, ranks)),
        left_overs=tuple(LeftOver(*line[1:]) for line in samples if line[0] == "left_over"),
        read_files=read,
        written_files=written,
        not_measured=(trailer or {}).get("not_measured", {}),
    )


def is_recording(path: str | Path) -> bool:
    """Whether a path is a folder with a recording's header, or with parts that have one."""
    return (Path(path) / HEADER).is_file() or bool(_parts(Path(path)))


def _parts(folder: Path) -> list[Path]:
    return sorted(header.parent for header in folder.glob(f"{PART_PREFIX}*/{HEADER}"))


def _header(folder: Path) -> Mapping[str, Any]:
    header = _object(folder / HEADER)
    if header is None or header.get("kind") != RECORDING_KIND:
        raise RecordingError(
            f"{folder}: this is no recording (no {HEADER})", hint="give a folder made by record or probe"
        )
    if header.get("version") not in KNOWN_VERSIONS:
        raise RecordingError(
            f"{folder}: recording version {header.get('version')} is not known here",
            hint="read it with the version of ckpt-doctor that made it, or record again with this one",
        )
    return header


def _meta(folder: Path, header: Mapping[str, Any], trailer: Mapping[str, Any] | None) -> RunMeta:
    end = trailer or {}
    return RunMeta(
        path=str(folder),
        command=tuple(header["command"]),
        cwd=header["cwd"],
        host=header["host"],
        created_unix_s=header["created_unix_s"],
        arm=header["arm"],
        complete=trailer is not None,
        ended_by=end.get("ended_by"),
        exit_code=end.get("exit_code"),
        options=header["options"],
        origin_step=end.get("origin_step"),
        checkpoint=end.get("checkpoint"),
    )


def _ranks(folder: Path) -> tuple[RankRecord, ...]:
    """One record a rank: where several processes had the same rank, the one that trained longest."""
    best: dict[tuple[str, int], RankRecord] = {}
    for path in sorted(folder.glob("rank*.jsonl")):
        record = _journal(path)
        if record is None or not len(record.steps):
            continue
        key = (record.node, record.rank)
        if key not in best or len(best[key].steps) < len(record.steps):
            best[key] = record
    return tuple(sorted(best.values(), key=lambda record: (record.rank, record.node)))


def _journal(path: Path) -> RankRecord | None:
    lines = _lines(path)
    header = next(lines, None)
    if not isinstance(header, dict) or header.get("kind") != JOURNAL_KIND:
        return None
    laps = Laps(round(header["started_s"] * 1e9))
    steps: list[Lap] = []
    counted: dict[int, dict[str, float]] = {}
    digests: dict[int, list[str]] = {}
    events: list[Event] = []
    fingerprints: list[Fingerprint] = []
    not_measured: dict[str, str] = {}
    complete = False
    for line in lines:
        if line[0] == "m":
            steps.extend(laps.read(line[1], line[2]))
        elif line[0] == "c":
            counted[line[1]] = line[2]
        elif line[0] == "d":
            digests.setdefault(line[1], []).extend(line[2])
        elif line[0] == "e":
            _, signal, t_s, step, duration_s, fields = line
            events.append(Event(signal, t_s, step, duration_s, fields))
        elif line[0] == "f":
            fingerprints.append(Fingerprint(line[1], line[2]))
        elif line[0] == "n":
            not_measured[line[1]] = line[2]
        elif line[0] == "t":
            complete = True
    for number, lap in enumerate(steps):
        for name, amount in counted.get(number, {}).items():
            lap.counted[name] = lap.counted.get(name, 0) + amount
        lap.digests.extend(digests.get(number, ()))
    return RankRecord(
        rank=header["rank"],
        node=header["node"],
        pid=header["pid"],
        steps=_series(steps),
        events=tuple(events),
        fingerprints=tuple(fingerprints),
        started_s=header["started_s"],
        complete=complete,
        hook_s=1e-9 * median(laps.observed_ns) if laps.observed_ns else None,
        not_measured=not_measured,
    )


def _series(laps: list[Lap]) -> StepSeries:
    names = sorted({name for lap in laps for name in lap.counted})
    always = {name for name in names if all(name in lap.counted for lap in laps[:1])}
    kind = _digest_kind(laps)
    return StepSeries(
        t_start_s=tuple(lap.start_ns * 1e-9 for lap in laps),
        t_end_s=tuple(lap.end_ns * 1e-9 for lap in laps),
        parts={part: tuple(lap.parts_ns[i] * 1e-9 for lap in laps) for i, part in enumerate(PARTS)},
        observer_s=tuple(lap.parts_ns[OBSERVER] * 1e-9 for lap in laps),
        counters={
            name: tuple(lap.counted.get(name, 0 if _counts(name, always) else None) for lap in laps)
            for name in names
        },
        digests=tuple(_digests(lap, kind) for lap in laps),
        digest_source=None if kind is None else _DIGEST_KINDS[kind],
    )


def _digest_kind(laps: list[Lap]) -> str | None:
    """The best kind of digest that the process has: what was drawn says more than what was seen."""
    kinds = {word[0] for lap in laps for word in lap.digests}
    return next((kind for kind in _DIGEST_KINDS if kind in kinds), None)


def _digests(lap: Lap, kind: str | None) -> str | None:
    """The digests of one kind in one step, in order; None where it has none."""
    return " ".join(word[2:] for word in lap.digests if word[0] == kind) or None


def _counts(name: str, always: set[str]) -> bool:
    """Whether a step that does not mention a counter counted zero of it."""
    return name not in ("minor_faults", "major_faults", "user_s", "system_s") or name in always


def _stacks(folder: Path, ranks: tuple[RankRecord, ...]) -> Iterator[StackProfile]:
    for record in ranks:
        profile = _object(folder / f"stacks-rank{record.rank:05d}.speedscope.json")
        if profile is not None:
            yield _user_lines(profile, record.rank)


def _user_lines(profile: Mapping[str, Any], rank: int) -> StackProfile:
    """Seconds of the main thread by the innermost line of the user's own, and by whole stack.

    Format: https://www.speedscope.app/file-format-schema.json (sampled profiles). Samples within
    the agent's hold are the probe's, not the run's.
    """
    frames = profile["shared"]["frames"]
    seconds: dict[SourceLine, float] = {}
    stacks: dict[tuple[SourceLine, ...], float] = {}
    sampled_s, samples = 0.0, 0
    for thread in profile["profiles"]:
        if "MainThread" not in thread.get("name", "") and len(profile["profiles"]) > 1:
            continue
        for stack, weight in zip(thread["samples"], thread["weights"], strict=True):
            if any(frames[index]["name"].endswith(HOLD) for index in stack):
                continue
            sampled_s += weight
            samples += 1
            whole = tuple(_source_line(frames[index]) for index in stack)
            stacks[whole] = stacks.get(whole, 0.0) + weight
            line = _innermost_user_line(frames, stack)
            if line is not None:
                seconds[line] = seconds.get(line, 0.0) + weight
    return StackProfile(rank, sampled_s, samples, seconds, stacks)


def _innermost_user_line(frames: list[Mapping[str, Any]], stack: list[int]) -> SourceLine | None:
    for index in reversed(stack):
        frame = frames[index]
        file = frame.get("file") or ""
        if file and not _LIBRARY.search(file):
            return _source_line(frame)
    return None


def _source_line(frame: Mapping[str, Any]) -> SourceLine:
    return SourceLine(frame.get("file") or "", frame.get("line") or 0, frame["name"])


def _files(folder: Path, ranks: tuple[RankRecord, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """Files that were opened for reading, and those written or moved to, checkpoints left out.

    Written lines come before those that move what was written (see agent.files).
    """
    saved = {event.fields.get("path") for rank in ranks for event in rank.events_of("save")}
    read: set[str] = set()
    written: set[str] = set()
    for letter, *paths in _rows(folder / FILES):
        if letter == "r":
            read.update(paths)
        elif letter == "w":
            written.update(paths)
        elif letter == "m" and paths[0] in written and paths[0] not in saved:
            written.add(paths[1])
    return frozenset(read), frozenset(path for path in written if path not in saved)


def _rows(path: Path) -> Iterator[list[str]]:
    """The tab-separated lines of a file; none where there is no file."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return
    yield from (line.split("\t") for line in text.splitlines() if "\t" in line)


def _object(path: Path) -> dict[str, Any] | None:
    """A JSON object from a file; None where the file is missing, cut short, or something else."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _lines(path: Path) -> Iterator[Any]:
    """The JSON lines of a file, up to the first that is cut short; none where there is no file."""
    try:
        with path.open(encoding="utf-8") as file:
            for text in file:
                try:
                    yield json.loads(text)
                except ValueError:
                    return
    except OSError:
        return
