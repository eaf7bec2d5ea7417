"""What a probe is asked to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class ProbeRequest:
    """A command to be run twice, and how to resume it."""

    command: tuple[str, ...]
    """The user's command as it is run fresh."""
    resume_args: str | None = None
    """Template appended to the command on resume, with ``{checkpoint}``."""
    after_args: str | None = None
    """Template that replaces the script's arguments on resume, with ``{checkpoint}``."""
    checkpoint: str | None = None
    """Resume from this instead of from what the fresh run saves."""
    checkpoint_path: str | None = None
    """Glob that names the checkpoint, where the script saves in a way that is not seen."""
    resumes: int = 1
    """How many times in a row the run is resumed before it is compared."""
    steps: int = 2000
    """At most this many steps since the save are compared."""
    turns: int = 12
    """Turns that each arm takes; fewer where the answer is clear, up to twice as many where it is open."""
    turn_s: float = 0.7
    """Length of a turn, as long as it holds several steps."""
    budget_s: float = 60.0
    """Time for all turns together, those of further pairs of processes included."""
    pairs: int | None = None
    """Pairs of processes, a fresh run and a resumed one each, that are measured one after the other; None for
    one, and a few more where it leaves the answer open."""
    first_step_timeout_s: float = 180.0
    save_timeout_s: float = 300.0
    threads: int | None = None
    """Intra-op threads for both arms; None leaves them as they are."""
    steady_heap: bool = False
    """Fix glibc's heap thresholds for both arms."""
    allow_overwrite: bool = False
    """Let the script overwrite or delete files that were there before."""
    cold_cache: bool = False
    """Resume as on a machine that has never read the data."""
    alternate: bool = False
    """Run one arm after the other instead of both in turns."""
    confirm: bool = False
    """Take each suspected cause away in one more resumed run, and see what comes back."""
    suspects: tuple[str, ...] = ()
    """Codes of the rules whose causes are taken away; empty for those that were found."""
    stacks: bool = True
    """Sample stacks with py-spy."""
    output: Path | None = None
    """Folder for the recordings; a new one below the current folder where it is None."""
