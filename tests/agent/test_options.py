"""What the doctor asks of the agent travels through the environment."""

from __future__ import annotations

import pytest

from ckpt_doctor.agent.options import AgentOptions, from_environment


@pytest.mark.parametrize(
    "options",
    [
        AgentOptions(recording="a b/ü"),
        AgentOptions(
            "r", watch_files=True, protect_since=1.5, hold_on_save=True, hold_at=7, allow_tracing=True
        ),
    ],
)
def test_options_survive_the_environment(options: AgentOptions) -> None:
    """What was put into the environment comes out of it."""
    assert from_environment(options.to_environment()) == options


def test_no_options() -> None:
    """An environment without them asks for no recording."""
    assert from_environment({}) is None
