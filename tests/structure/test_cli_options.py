"""The options of the command line are a promise: a new one, or one that goes, has to be written here."""

from __future__ import annotations

import typer.main

from ckpt_doctor.cli.commands import app

REPORT = {"--format", "-f", "--output", "-o", "--fail-on", "--ignore"}
OPTIONS: dict[str, set[str]] = {
    "inspect": {*REPORT, "--require"},
    "compare": {
        *REPORT,
        *("--before", "--after", "--require", "--inconclusive-ok", "--inconclusive-fails"),
        *("--log-pattern", "--column"),
    },
    "probe": {
        *REPORT,
        *("--inconclusive-ok", "--inconclusive-fails"),
        *("--resume-args", "--after-args", "--checkpoint", "--checkpoint-path", "--resumes"),
        *("--steps", "--turns", "--turn", "--budget", "--pairs", "--first-step-timeout", "--save-timeout"),
        *("--threads", "--steady-heap", "--cold-cache", "--alternate", "--stacks", "--no-stacks"),
        *("--allow-overwrite", "--recordings", "--confirm", "--suspect"),
    },
    "record": {"--output", "-o"},
    "treat": {
        *("--output", "-o", "--only", "--skip", "--drop-state", "--dry-run", "--allow-overwrite"),
    },
    "explain": {"--list"},
    "demo": {"--format", "-f", "--output", "-o"},
    "env": set(),
}
GLOBAL = {"--version", "--debug", "--install-completion", "--show-completion"}


def options_of(command: object) -> set[str]:
    """All names of all options of a command."""
    parameters = [p for p in command.params if p.param_type_name == "option"]  # type: ignore[attr-defined]
    return {name for p in parameters for name in (*p.opts, *p.secondary_opts)}


def test_the_options_are_frozen() -> None:
    """Every command has exactly the options that are written down."""
    group = typer.main.get_command(app)
    assert options_of(group) == GLOBAL
    commands = group.commands  # type: ignore[attr-defined]
    assert {name: options_of(command) for name, command in commands.items()} == OPTIONS


def test_every_option_is_explained() -> None:
    """Each option and argument has a help text, and each command a description and an example."""
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        assert command.help, name
        assert "ckpt-doctor " + name in command.epilog, name
        assert all(parameter.help for parameter in command.params), name
