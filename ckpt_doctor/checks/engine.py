"""Finds the rules by scanning their folders, and puts a case to all of them.

A rule is one module named after itself, as ``checks/data/dat203_cold_page_cache.py``: the code is
``DAT203``, the name ``cold-page-cache``. Its docstring is its page, with the headings of
``HEADINGS``. It has one of

- ``find(case)``, which judges the facts alone, or
- ``find_rest(case, findings)``, which is asked last and sees what the others found,

and returns a ``Found``, several of them, a ``CannotTell`` or None (nothing to report).

A rule is asked about recordings. One that can also judge other evidence says in ``NEEDS`` which signals it
cannot do without (names of ``not_measured``); it may be empty.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from types import ModuleType
from typing import NamedTuple

from ckpt_doctor import checks
from ckpt_doctor.facts.recording import RECORDING
from ckpt_doctor.facts.report import CannotTell, Case, Evidence, Finding, Found, NotEvaluated

Outcome = Found | Sequence[Found] | CannotTell | None

HEADINGS: tuple[str, ...] = ("What it means", "How it is measured", "How to fix it", "When it is wrong")
"""Headings that every rule's docstring has, in this order, each underlined with dashes."""

_CHECKPOINT_FAMILY = "state"
"""Folder of the rules that need nothing but a checkpoint."""

_NO_FAMILY = "checklist"
"""Folder of what puts the answers of the rules together."""

_OURS = ("agent", "fingerprint", "dynamo")
"""Sources within the process; evidence that is no recording has one source of its own."""

_MODULE_NAME = re.compile(r"(?P<code>(?:sta|dat|cmp|hst|wrk|msr)\d{3})_(?P<name>[a-z0-9_]+)")


class Rule(NamedTuple):
    """One rule: its identity from its file name, its page from its docstring."""

    code: str
    name: str
    doc: str
    module: ModuleType

    @property
    def asked_last(self) -> bool:
        """Whether the rule judges what the other rules left unexplained."""
        return hasattr(self.module, "find_rest")

    @property
    def needs(self) -> tuple[str, ...]:
        """What both runs have to tell, as names of ``not_measured``."""
        usual = () if self.module.__name__.split(".")[-2] == _CHECKPOINT_FAMILY else (RECORDING,)
        return tuple(getattr(self.module, "NEEDS", usual))


def catalogue() -> tuple[Rule, ...]:
    """All rules, by code.

    Raises:
        ValueError: A module in a rule folder is not a well-formed rule.
    """
    rules = (rule for family in _families() for rule in _rules_of(family))
    return tuple(sorted(rules, key=lambda rule: rule.code))


def judge(case: Case, refuted: Collection[str] = ()) -> tuple[tuple[Finding, ...], tuple[NotEvaluated, ...]]:
    """Put a case to every rule; findings are in the order of the rules.

    Args:
        case: The facts.
        refuted: Codes of rules whose causes were taken away in vain: their findings explain nothing to the
            rules that are asked last.
    """
    findings: list[Finding] = []
    unknown: list[NotEvaluated] = []
    for rule in sorted(_rules_for(case), key=lambda rule: (rule.asked_last, rule.code)):
        standing = tuple(finding for finding in findings if finding.code not in refuted)
        outcome = _missing(rule, case) or _asked(rule, case, standing)
        if isinstance(outcome, CannotTell):
            unknown.append(NotEvaluated(rule.code, outcome.why))
        else:
            findings.extend(_named(rule, found, case) for found in _as_sequence(outcome))
    return tuple(findings), tuple(unknown)


def _rules_for(case: Case) -> Iterable[Rule]:
    """The rules that concern a case: without a comparison of runs only those about checkpoints.

    The others could say nothing, and importing them takes longer than judging.
    """
    families = _families() if case.comparison is not None else (_CHECKPOINT_FAMILY,)
    return (rule for family in families for rule in _rules_of(family))


@cache
def _families() -> tuple[str, ...]:
    packages = (info.name for info in pkgutil.iter_modules(checks.__path__) if info.ispkg)
    return tuple(name for name in packages if name != _NO_FAMILY)


@cache
def _rules_of(family: str) -> tuple[Rule, ...]:
    package = importlib.import_module(f"{checks.__name__}.{family}")
    modules = pkgutil.iter_modules(package.__path__)
    return tuple(_load(f"{package.__name__}.{info.name}", info.name) for info in modules)


def _load(path: str, name: str) -> Rule:
    match = _MODULE_NAME.fullmatch(name)
    if match is None:
        raise ValueError(f"{path}: a rule's file is named like dat203_cold_page_cache.py")
    module = importlib.import_module(path)
    doc = (module.__doc__ or "").strip()
    missing = [heading for heading in HEADINGS if f"{heading}\n{'-' * len(heading)}" not in doc]
    if missing:
        raise ValueError(f"{path}: its docstring lacks the headings {', '.join(missing)}")
    finders: list[Callable[..., Outcome]] = [
        getattr(module, n) for n in ("find", "find_rest") if hasattr(module, n)
    ]
    if len(finders) != 1:
        raise ValueError(f"{path}: a rule has either find(case) or find_rest(case, findings)")
    return Rule(match["code"].upper(), match["name"].replace("_", "-"), doc, module)


def _missing(rule: Rule, case: Case) -> CannotTell | None:
    """Why a rule cannot be asked: the runs were read from evidence that does not tell what it needs."""
    missing: Mapping[str, str] = {} if case.comparison is None else case.comparison.not_measured
    name = next((name for name in rule.needs if name in missing), None)
    if name is None:
        return None
    return CannotTell(missing[name] if name == RECORDING else f"{name.replace('_', ' ')}: {missing[name]}")


def _asked(rule: Rule, case: Case, findings: tuple[Finding, ...]) -> Outcome:
    found: Outcome = rule.module.find_rest(case, findings) if rule.asked_last else rule.module.find(case)
    return found


def _as_sequence(outcome: Found | Sequence[Found] | None) -> Sequence[Found]:
    if outcome is None:
        return ()
    return (outcome,) if isinstance(outcome, Found) else outcome


def _named(rule: Rule, found: Found, case: Case) -> Finding:
    values = {field.name: getattr(found, field.name) for field in fields(Found)}
    values["evidence"] = tuple(_sourced(evidence, case) for evidence in found.evidence)
    return Finding(code=rule.code, name=rule.name, **values)


def _sourced(evidence: Evidence, case: Case) -> Evidence:
    """The same evidence with its true source: what the agent sees of a recording, others tell themselves."""
    comparison = case.comparison
    if comparison is None or RECORDING not in comparison.not_measured or evidence.source not in _OURS:
        return evidence
    return evidence._replace(source=comparison.after.run.meta.kind)
