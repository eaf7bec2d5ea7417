"""Looking at module calls."""

from __future__ import annotations

from tests.conftest import Train
from tests.recorded import MODEL

HOOKS = (
    MODEL
    + """
from torch.nn.modules import module
hooks = lambda: len(module._global_forward_pre_hooks)
print(hooks())
for _ in range(30): step()
print(hooks())
torch.save(model.state_dict(), "model.pt")
print(hooks())
step()
compiled = torch.compile(model, backend="eager")
print(hooks())
torch.save(model.state_dict(), "again.pt")
print(hooks())
"""
)


def test_hooks_are_there_for_some_steps_only(train: Train) -> None:
    """After the start and after a save, and never again once something is compiled."""
    recorded = train(HOOKS)
    assert recorded.process.returncode == 0, recorded.process.stderr
    begun, later, saved, compiling, saved_again = map(int, recorded.process.stdout.split())
    assert begun == saved > 0
    assert later == compiling == saved_again == 0
