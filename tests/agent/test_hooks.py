"""The hooks are found by scanning their folder."""

from __future__ import annotations

import pkgutil

from ckpt_doctor.agent.hooks import hooks
from ckpt_doctor.signals import hooks as package


def test_every_module_is_a_hook() -> None:
    """Each file of the folder is found once, in a fixed order, with what it needs."""
    found = list(hooks())
    assert [hook.name for hook in found] == sorted(
        info.name for info in pkgutil.iter_modules(package.__path__)
    )
    assert all(hook.signals and hook.needs and callable(hook.install) for hook in found)
