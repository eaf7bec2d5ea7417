"""What ``ckpt-doctor inspect`` does, once its command line is understood."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ckpt_doctor import doctor
from ckpt_doctor.cli import progress
from ckpt_doctor.cli.exit_codes import ExitCode
from ckpt_doctor.cli.messages import tell
from ckpt_doctor.cli.output import Destinations
from ckpt_doctor.cli.policy import project_policy

if TYPE_CHECKING:
    from ckpt_doctor.facts.report import Severity


def run(
    paths: Sequence[str],
    format_name: str,
    *,
    output: Sequence[str] = (),
    required: Sequence[str] = (),
    ignored: Sequence[str] = (),
    fail_on: Severity | None = None,
) -> int:
    """Inspect checkpoints, deliver the report, tell what could not be read; the exit code.

    Args:
        paths: Checkpoint files or folders.
        format_name: Format on standard output.
        output: Files to write as well, as `Destinations` takes them.
        required: Kinds of state that every checkpoint has to hold.
        ignored: Codes of rules whose findings are left out.
        fail_on: Least severity that makes the exit code 1; None leaves it to the project.

    Raises:
        UsageError: An option holds something that does not exist.
    """
    destinations = Destinations(format_name, output)
    policy = project_policy(os.getcwd(), required=required, ignored=ignored, fail_on=fail_on)
    with progress.shown_if_long("reading"):
        report, errors = doctor.inspect(paths, policy)
    code = destinations.deliver(report, policy) if report.checkpoints else ExitCode.COULD_NOT_RUN
    for error in errors:
        tell(error)
    return ExitCode.COULD_NOT_RUN if errors else code
