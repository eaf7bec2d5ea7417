"""The garbage collector has less to do, and is not called by hand."""

from __future__ import annotations

from ckpt_doctor.agent.treatments.cmp314_collections_left_out import plan
from ckpt_doctor.facts.treatment import PutBack
from tests.agent.treatments.conftest import Treat, said, suspected
from tests.builders import comparison_of, control, make_case, resumed

SCRIPT = """
import gc, torch
gc.set_threshold(50, 2, 2)
history = [[i] for i in range(5000)]
class Cycle: pass
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
collected = []
for _ in range(2):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    cycle = Cycle()
    cycle.own = cycle
    del cycle
    collected.append(gc.collect())
print(collected, gc.get_threshold(), gc.get_freeze_count() > 5000)
"""


def test_after_the_first_step(treat: Treat) -> None:
    """What was loaded is frozen, calls by hand return at once, and the settings are the control's."""
    out = treat(SCRIPT, "CMP314", {"gc.threshold": "70000,1000,1000"})
    assert out.process.stdout == "[0, 0] (70000, 1000, 1000) True\n"
    assert len(said(out)) == 1


def test_settings_of_the_collector() -> None:
    """They are put back where they differ."""
    key = "gc.threshold"
    runs = control(values={key: "700,10,10"}), resumed(values={key: "70,5,5"})
    planned = plan(suspected("CMP314"), comparison_of(make_case(*runs)))
    assert isinstance(planned, PutBack)
    assert planned.settings == {key: "700,10,10"}
    assert planned.what.endswith("gc.threshold=700,10,10")
