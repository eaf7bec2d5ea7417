"""False alarms and power: identical code against itself, and against a little more real work.

Run with ``python -m tests.benchmarks.noise`` (``make bench-noise``). Each recording holds several fresh and
several resumed processes of one script, alive at once, that take short turns in a rotating order, a fresh one
beside a resumed one of each kind. Every fresh process is then compared with every resumed one, as
``ckpt-doctor compare`` does it and as if these two had been probed: so some processes give many comparisons,
which differ in the process on either side and share the machine's moods of one recording. Resumed processes
with more work do more of the same matrix products in each forward pass, as many as make the step so many per
cent longer: what part of a step they are is measured first, by steps of one process with and without twice as
many. No counter tells of them, so the clock alone has to find them.

Several pairs of processes (``ckpt-doctor probe --pairs``) are judged in groups that are drawn from those
pairs that took their turns side by side, as the two processes of a probe do: of so many recordings, so many
times the smaller number of processes. No two pairs of a group have a process in common; of all but its first
pair only half of the turns are taken, as by a probe. The lines of "1-4" and "1-8" pairs are what a probe does
unasked with a budget of 60 and of 120 s: it takes the next pair of a group only where the ones before leave
the answer open. Groups do have pairs in common with each other: the share of them that is called slower is as
sure as that of a few independent probes, not of as many as there are groups.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from statistics import fmean, median, stdev

from ckpt_doctor.agent.heap import STEADY_HEAP
from ckpt_doctor.agent.options import AgentOptions
from ckpt_doctor.checks.engine import judge
from ckpt_doctor.checks.verdict import decide, is_open
from ckpt_doctor.facts.comparison import Comparison
from ckpt_doctor.facts.report import Case, Status
from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.probe.arm import Arm
from ckpt_doctor.probe.pairs import most_unasked
from ckpt_doctor.probe.variables import THREAD_VARIABLES
from ckpt_doctor.readers.recordings import read_recording
from ckpt_doctor.stats.comparison import compare_runs
from ckpt_doctor.stats.pairs import over_pairs
from tests.benchmarks.hogs import hogs
from tests.benchmarks.results import write_section

SCRIPT = """
import argparse, statistics, time, torch
from torch.utils.data import DataLoader, TensorDataset
parser = argparse.ArgumentParser()
parser.add_argument("--resume")
parser.add_argument("--save")
parser.add_argument("--products", type=int, default=400)
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--share-of", type=int, metavar="STEPS")
args = parser.parse_args()
torch.manual_seed(0)
class Mixer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = torch.nn.Linear(192, 192), torch.nn.Linear(192, 8)
    def forward(self, x):
        with torch.no_grad():
            some = x[:32]
            for _ in range(args.products):
                # Growing and bounded: numbers that shrink become subnormal, with which a CPU is slow.
                some = torch.tanh(3 * (some @ self.inner.weight))
        return self.outer(self.inner(x))
data = TensorDataset(torch.randn(2048, 192), torch.randint(0, 8, (2048,)))
model = Mixer()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
step = 0
if args.resume:
    state = torch.load(args.resume)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    step = state["step"]
loader = DataLoader(data, batch_size=128, shuffle=True, num_workers=args.workers,
                    persistent_workers=args.workers > 0)
took, ended = {args.products: [], 2 * args.products: []}, time.perf_counter()
while True:
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        step += 1
        if args.share_of:
            now = time.perf_counter()
            took[args.products].append(now - ended)
            args.products, ended = [*took][step % 2], now
        if step == args.share_of:
            once, twice = (statistics.median(each) for each in took.values())
            print(twice / once - 1.0)
            raise SystemExit
        if step == 20 and args.save:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
            torch.save(state, args.save)
            raise SystemExit
"""
SAVED_STEP = 20
PRODUCTS = 400
RESUME = "--resume"
TURN_S = 0.7
SHARE_STEPS = 1000
MIN_TURN_STEPS = 4
START_TIMEOUT_S = 120.0
SEED = 20250101
"""The same recordings give the same groups."""


@dataclass(frozen=True)
class Pair:
    """One fresh process against one resumed one of the same recording."""

    fresh: int
    resumed: int
    more_work_percent: int
    comparison: Comparison
    shorter: Comparison
    """The same of half of the turns."""


@dataclass(frozen=True)
class Outcome:
    """What was said of one pair of processes, or of several together."""

    pairs: str
    """How many, as the table calls it."""
    more_work_percent: int
    status: Status
    ratio: float
    low: float
    high: float


def main() -> None:
    """Record, compare, print, and write RESULTS.md with ``--write``."""
    arguments = _arguments()
    cores = os.cpu_count() or 1
    pairs: list[Pair] = []
    outcomes: list[Outcome] = []
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="noise-") as top, hogs(arguments.hog):
        checkpoint = Path(top) / "checkpoint.pt"
        (Path(top) / "train.py").write_text(SCRIPT, encoding="utf-8")
        subprocess.run([*_command(Path(top)), "--save", str(checkpoint)], check=True, env=_environment())
        share = _products_share(Path(top))
        print(f"the products are {share:.0%} of a step", flush=True)
        for number in range(arguments.recordings):
            folder = Path(top) / f"recording-{number}"
            _record(folder, checkpoint, share, arguments)
            found = _pairs(folder, arguments)
            pairs += found
            outcomes += [_outcome([pair]) for pair in found]
            print("\n".join(_table(outcomes)), flush=True)
    for budget_s in arguments.budgets:
        outcomes += _grouped(pairs, most_unasked(budget_s), arguments, _unasked)
    for count in arguments.pairs:
        outcomes += _grouped(pairs, count, arguments, _outcome)
    print("\n".join(_table(outcomes)), flush=True)
    minutes = (time.monotonic() - began_s) / 60.0
    beside = "one busy process a core" if arguments.hog else "no hog"
    head = (
        f"{time.strftime('%Y-%m-%d')}, {cores} cores, {beside} beside; "
        f"`python -m tests.benchmarks.noise {' '.join(sys.argv[1:])}`, {minutes:.0f} min: "
        f"{arguments.recordings} recordings, each of {arguments.fresh} fresh processes and "
        f"{arguments.resumed} resumed ones a line of the table, {arguments.rounds} turns of "
        f"{arguments.turn} s each. Lines of several pairs: {arguments.groups} groups each, drawn from those "
        "pairs that took their turns side by side; groups have pairs in common; of all but a group's first "
        "pair half of the turns count."
    )
    if arguments.write:
        title = f"False alarms and power, {'beside a hog' if arguments.hog else 'quiet'}"
        write_section(title, "\n".join([head, "", *_table(outcomes)]))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recordings", type=int, default=4)
    parser.add_argument("--fresh", type=int, default=5, help="uninterrupted processes of a recording")
    parser.add_argument("--resumed", type=int, default=5, help="resumed processes of a recording, per line")
    parser.add_argument("--more-work", type=int, nargs="*", default=[0, 3, 5, 10, 20], metavar="PERCENT")
    parser.add_argument("--workers", type=int, default=0, help="loader workers of each process")
    parser.add_argument("--rounds", type=int, default=12, help="turns of each process")
    parser.add_argument("--turn", type=float, default=TURN_S, help="seconds of a turn")
    parser.add_argument("--pairs", type=int, nargs="*", default=[3, 6, 8], help="also judge so many together")
    parser.add_argument("--budgets", type=float, nargs="*", default=[60.0, 120.0], help="of probes, in s")
    parser.add_argument("--groups", type=int, default=200, help="groups of so many pairs, per line")
    parser.add_argument("--hog", action="store_true", help="one busy process a core beside them")
    parser.add_argument("--write", action="store_true", help="write the outcome into RESULTS.md")
    return parser.parse_args()


def _products_share(top: Path) -> float:
    """What part of a step the matrix products are."""
    command = [*_command(top), "--share-of", str(SHARE_STEPS)]
    told = subprocess.run(command, check=True, env=_environment(), stdout=subprocess.PIPE, text=True)
    return float(told.stdout)


def _record(folder: Path, checkpoint: Path, share: float, arguments: argparse.Namespace) -> None:
    """One recording of all processes."""
    workers = ["--workers", str(arguments.workers)]
    fresh = [_arm(folder / f"fresh-{i}", workers, checkpoint) for i in range(arguments.fresh)]
    kinds = [fresh]
    for percent in arguments.more_work:
        products = math.ceil(PRODUCTS * (1.0 + percent / 100.0 / share))
        extra = [*workers, *_resumed(checkpoint, products)]
        names = (f"resumed-{percent}-{i}" for i in range(arguments.resumed))
        kinds.append([_arm(folder / name, extra, checkpoint) for name in names])
    _run_together(kinds, arguments.rounds, arguments.turn)


def _run_together(kinds: Sequence[Sequence[Arm]], rounds: int, turn_s: float) -> None:
    """Start all processes, let them take their turns, and end them.

    One of each kind stand side by side: a mood of the machine that lasts for some turns would otherwise fall
    on all fresh ones at once, which are the first kind, and on every comparison of the recording.
    """
    arms = [arm for some in zip_longest(*kinds) for arm in some if arm is not None]
    try:
        for arm in arms:
            arm.start()
            _hold(arm)
        _take_turns(arms, rounds, turn_s)
    finally:
        for arm in arms:
            origin = SAVED_STEP if arm in kinds[0] else 0
            arm.end(origin_step=origin)


def _pairs(folder: Path, arguments: argparse.Namespace) -> list[Pair]:
    """Every comparison that a recording gives."""
    fresh = [read_recording(folder / f"fresh-{i}") for i in range(arguments.fresh)]
    found: list[Pair] = []
    for percent in arguments.more_work:
        for j in range(arguments.resumed):
            run = read_recording(folder / f"resumed-{percent}-{j}")
            for i, one in enumerate(fresh):
                both = compare_runs(one, run), compare_runs(_shortened(one), _shortened(run))
                found.append(Pair(i, j, percent, *both))
    return found


def _shortened(run: RunRecord) -> RunRecord:
    """The run with half of its turns, the first two of which are not compared."""
    return replace(run, turns=run.turns[: 1 + len(run.turns) // 2])


def _grouped(
    pairs: Sequence[Pair],
    count: int,
    arguments: argparse.Namespace,
    told: Callable[[Sequence[Pair]], Outcome],
) -> list[Outcome]:
    """What is said of groups of so many pairs that took turns side by side; none where there are fewer."""
    rng = random.Random(SEED)
    found: list[Outcome] = []
    for percent in arguments.more_work:
        probed = [p for p in pairs if p.more_work_percent == percent and p.fresh == p.resumed]
        if len(probed) >= count:
            found += [told(rng.sample(probed, count)) for _ in range(arguments.groups)]
    return found


def _arm(folder: Path, extra: Sequence[str], checkpoint: Path) -> Arm:
    """A process that is held as many steps after its origin as all others are."""
    is_resumed = RESUME in extra
    options = AgentOptions(
        recording=str(folder), hold_at=MIN_TURN_STEPS if is_resumed else SAVED_STEP + MIN_TURN_STEPS
    )
    # What the resumed process is given beside the others is a resume's, not another experiment's.
    told = {"after_args": shlex.join(extra)} if is_resumed else {}
    return Arm(folder.name, [*_command(checkpoint.parent), *extra], folder, options, _environment(), told)


def _hold(arm: Arm) -> None:
    if not arm.wait_until(arm.held, START_TIMEOUT_S):
        raise RuntimeError(f"{arm.name} did not start: {arm.tail()}")
    arm.halt_alone()


def _take_turns(arms: Sequence[Arm], rounds: int, turn_s: float) -> None:
    steps = MIN_TURN_STEPS
    for number in range(rounds + 1):
        turned = [*arms[number % len(arms) :], *arms[: number % len(arms)]]
        lengths_s = []
        for arm in turned:
            turn = arm.advance(steps, "interleaved")
            if turn is None:
                raise RuntimeError(f"{arm.name} ended: {arm.tail()}")
            lengths_s.append((turn.t_end_s - turn.t_start_s) / steps)
        steps = max(MIN_TURN_STEPS, round(turn_s / median(lengths_s)))


def _outcome(group: Sequence[Pair]) -> Outcome:
    """What is said of a group of pairs, or of one."""
    return _told(group, str(len(group)))[0]


def _unasked(group: Sequence[Pair]) -> Outcome:
    """What is said by a probe that goes on to the next pair while the answer is open."""
    label = f"1-{len(group)}"
    for count in range(1, len(group)):
        outcome, goes_on = _told(group[:count], label)
        if not goes_on:
            return outcome
    return _told(group, label)[0]


def _told(group: Sequence[Pair], label: str) -> tuple[Outcome, bool]:
    """What is said of some pairs, and whether that leaves the answer open."""
    compared = over_pairs(group[0].comparison, [pair.shorter for pair in group[1:]])
    case = Case(comparison=compared)
    verdict, ratio = decide(case, judge(case)[0]), compared.ratio
    told = Outcome(label, group[0].more_work_percent, verdict.status, ratio.value, ratio.low, ratio.high)
    return told, is_open(compared, verdict)


def _table(outcomes: Sequence[Outcome]) -> list[str]:
    lines = [
        "| pairs | more work | comparisons | slower | same | faster | inconclusive | ratio (sd) "
        "| half interval |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for count, percent in sorted({(o.pairs, o.more_work_percent) for o in outcomes}):
        some = [o for o in outcomes if (o.pairs, o.more_work_percent) == (count, percent)]
        told = Counter(o.status for o in some)
        logs = [math.log(o.ratio) for o in some]
        width = median((o.high - o.low) / 2.0 for o in some)
        counts = " | ".join(
            str(told[s]) for s in (Status.SLOWER, Status.SAME, Status.FASTER, Status.INCONCLUSIVE)
        )
        lines.append(
            f"| {count} | {percent} % | {len(some)} | {counts} "
            f"| {math.exp(fmean(logs)):.3f} ({_spread(logs):.3f}) | {width:.3f} |"
        )
    return lines


def _spread(logs: Sequence[float]) -> float:
    return stdev(logs) if len(logs) > 1 else 0.0


def _command(top: Path) -> list[str]:
    return [sys.executable, str(top / "train.py")]


def _resumed(checkpoint: Path, products: int) -> list[str]:
    return [RESUME, str(checkpoint), "--products", str(products)]


def _environment() -> Mapping[str, str]:
    return {**os.environ, **STEADY_HEAP, **dict.fromkeys(THREAD_VARIABLES, "1")}


if __name__ == "__main__":
    main()
