"""A project's policy: the table ``[tool.ckpt-doctor]`` of the nearest pyproject.toml, then the options.

::

    [tool.ckpt-doctor]
    required = ["optimizer", "sampler_rng"]   # state kinds that every checkpoint has to hold
    ignored = ["STA113"]                      # rules whose findings are left out
    fail-on = "warning"                       # error (default), warning or info
    inconclusive-ok = true

Options on the command line win; ``required`` and ``ignored`` are added to the table's.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ckpt_doctor.errors import UsageError
from ckpt_doctor.facts.policy import Policy
from ckpt_doctor.facts.report import Severity
from ckpt_doctor.facts.states import StateKind

TABLE = "tool.ckpt-doctor"
KEYS = ("required", "ignored", "fail-on", "inconclusive-ok")

_HEADER = re.compile(rf"^\s*\[{re.escape(TABLE)}\]", re.MULTILINE)


def project_policy(
    folder: str | os.PathLike[str],
    *,
    required: Sequence[str] = (),
    ignored: Sequence[str] = (),
    fail_on: Severity | None = None,
    inconclusive_ok: bool | None = None,
) -> Policy:
    """The policy for a folder, with the options laid over it.

    Args:
        folder: Where to start looking for pyproject.toml, upwards.
        required: State kinds that are demanded as well.
        ignored: Rule codes that are left out as well.
        fail_on: Replaces the project's, unless None.
        inconclusive_ok: Replaces the project's, unless None.

    Raises:
        UsageError: The table or an option holds something that does not exist.
    """
    path, table = _nearest_table(folder)
    unknown = sorted(set(table) - set(KEYS))
    if unknown:
        raise UsageError(
            f"{path}: [{TABLE}] has no key {unknown[0]!r}", hint=f"The keys are {', '.join(KEYS)}."
        )
    severity = fail_on or _severity(table.get("fail-on", Severity.ERROR.value), path)
    return Policy(
        required=_known_states([*_strings(table, "required", path), *required]),
        ignored=_known_rules([*_strings(table, "ignored", path), *ignored]),
        fail_on=severity,
        inconclusive_ok=_flag(table, "inconclusive-ok", path) if inconclusive_ok is None else inconclusive_ok,
    )


def _nearest_table(folder: str | os.PathLike[str]) -> tuple[str | None, Mapping[str, Any]]:
    for candidate in _upwards(os.fspath(folder)):
        path = os.path.join(candidate, "pyproject.toml")
        if not os.path.isfile(path):
            continue
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        if _HEADER.search(text):
            return path, _table(text, path)
    return None, {}


def _upwards(folder: str) -> Iterator[str]:
    """The folder and all above it."""
    yield folder
    while (above := os.path.dirname(folder)) != folder:
        yield above
        folder = above


def _table(text: str, path: str) -> Mapping[str, Any]:
    from importlib import import_module
    from importlib.util import find_spec

    name = next((name for name in ("tomllib", "tomli") if find_spec(name)), None)
    if name is None:
        raise UsageError(
            f"{path}: [{TABLE}] cannot be read, since Python 3.10 has no TOML reader",
            hint="pip install tomli",
        )
    toml = import_module(name)
    try:
        table = toml.loads(text)["tool"]["ckpt-doctor"]
    except toml.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from error
    assert isinstance(table, Mapping)
    return table


def _strings(table: Mapping[str, Any], key: str, path: str | None) -> list[str]:
    value = table.get(key, [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise UsageError(f"{path}: {key} in [{TABLE}] is not a list of strings")
    return value


def _flag(table: Mapping[str, Any], key: str, path: str | None) -> bool:
    value = table.get(key, False)
    if not isinstance(value, bool):
        raise UsageError(f"{path}: {key} in [{TABLE}] is neither true nor false")
    return value


def _severity(value: object, path: str | None) -> Severity:
    names = [severity.value for severity in Severity]
    if value not in names:
        raise UsageError(
            f"{path}: fail-on in [{TABLE}] is {value!r}", hint=f"It is one of {', '.join(names)}."
        )
    return Severity(value)


def _known_states(names: Sequence[str]) -> frozenset[str]:
    kinds = [kind.value for kind in StateKind]
    for name in names:
        if name not in kinds:
            raise UsageError(f"{name!r} is no kind of state", hint=f"The kinds are {', '.join(kinds)}.")
    return frozenset(names)


def _known_rules(codes: Sequence[str]) -> frozenset[str]:
    if not codes:
        return frozenset()
    from ckpt_doctor.checks.engine import catalogue

    known = {rule.code for rule in catalogue()}
    for code in codes:
        if code.upper() not in known:
            raise UsageError(f"{code!r} is no rule", hint="`ckpt-doctor explain --list` lists them.")
    return frozenset(code.upper() for code in codes)
