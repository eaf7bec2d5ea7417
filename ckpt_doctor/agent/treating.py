"""The treatments that there are, found by scanning ``agent/treatments``.

A treatment is one module named after its rule, as ``dat204_workers_kept.py`` for ``DAT204``. It has

- ``CANNOT``, one sentence: what it cannot take away;
- ``plan(finding, comparison)``, which is pure: a ``PutBack`` with what differs from the control, or a
  ``NotTested`` where this case cannot be treated: ``NotThere`` if there is nothing to put back;
- and, where there is something to do inside of the run, ``NEEDS`` and
  ``install(recorder, module, settings)``, as the hooks in ``signals/hooks`` have them. It records an event
  ``TREATED`` once it has put something back, and ``UNTREATED`` where it finds that it cannot.

Rules without a module have causes that nothing but the script itself can take away.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ckpt_doctor.agent import treatments as package
from ckpt_doctor.facts.treatment import NotTested, PutBack, Trial

if TYPE_CHECKING:
    from ckpt_doctor.facts.comparison import Comparison
    from ckpt_doctor.facts.report import Finding
    from ckpt_doctor.signals.contract import Recorder

NO_TREATMENT = "nothing but the script itself can take this cause away"

_MODULE_NAME = re.compile(r"(?P<code>(?:dat|cmp|hst|wrk)\d{3})_[a-z0-9_]+")


class Install(Protocol):
    """Puts something back inside of a run, once the module that it needs is there."""

    def __call__(self, recorder: Recorder, module: ModuleType, settings: Mapping[str, Any]) -> None:
        """Put it back."""


class Treatment(NamedTuple):
    """One module of ``agent/treatments``."""

    code: str
    cannot: str
    plan: Callable[[Finding, Comparison], PutBack | NotTested]
    cost_s: Callable[[Comparison], float | None] | None
    """Seconds that a run paid for the cause at its start; only for causes that are paid once."""
    needs: tuple[str, ...]
    install: Install | None


@cache
def codes() -> tuple[str, ...]:
    """The rules whose causes can be taken away, in order.

    Raises:
        ValueError: A module is not named after a rule.
    """
    return tuple(sorted(_modules()))


def treatment_of(code: str) -> Treatment | None:
    """The treatment of a rule's cause; None where there is none.

    Raises:
        AttributeError: Its module lacks what a treatment must have.
    """
    name = _modules().get(code)
    if name is None:
        return None
    module = importlib.import_module(name)
    return Treatment(
        code,
        module.CANNOT,
        module.plan,
        getattr(module, "cost_s", None),
        getattr(module, "NEEDS", ()),
        getattr(module, "install", None),
    )


def trial(finding: Finding, comparison: Comparison) -> Trial | NotTested:
    """How to test a finding: one more resumed run without its cause."""
    treatment = treatment_of(finding.code)
    if treatment is None:
        return NotTested(NO_TREATMENT)
    put_back = treatment.plan(finding, comparison)
    if isinstance(put_back, NotTested):
        return put_back
    is_lasting = treatment.cost_s is None or finding.share_ratio is not None
    return Trial(code=finding.code, is_lasting=is_lasting, put_back=put_back, cannot=treatment.cannot)


@cache
def _modules() -> Mapping[str, str]:
    """Full names of the modules, by the code of their rule."""
    found: dict[str, str] = {}
    for info in pkgutil.iter_modules(package.__path__):
        match = _MODULE_NAME.fullmatch(info.name)
        if match is None:
            raise ValueError(
                f"{package.__name__}.{info.name}: a treatment is named like dat204_workers_kept.py"
            )
        found[match["code"].upper()] = f"{package.__name__}.{info.name}"
    return found
