"""A step is one update of each optimizer, however a script goes about it."""

from __future__ import annotations

from tests.conftest import Train
from tests.recorded import MODEL, check_parts

TWO_OPTIMIZERS = """
import torch
d, g = torch.nn.Linear(8, 1), torch.nn.Linear(8, 8)
d_optimizer = torch.optim.Adam(d.parameters())
g_optimizer = torch.optim.SGD(g.parameters(), lr=1e-3)
for _ in range(6):
    for _ in range({updates}):
        d_optimizer.zero_grad()
        d(g(torch.ones(2, 8)).detach()).sum().backward()
        d_optimizer.step()
    g_optimizer.zero_grad()
    d(g(torch.ones(2, 8))).sum().backward()
    g_optimizer.step()
"""

ACCUMULATION = """
import torch
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for _ in range(5):
    for _ in range(4):
        model(torch.ones(2, 8)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""

CLOSURES = """
import torch
model = torch.nn.Linear(8, 1)
optimizer = torch.optim.LBFGS(model.parameters(), lr=1e-3, max_iter=3, tolerance_change=0, tolerance_grad=0)
calls = 0
def closure():
    global calls
    calls += 1
    optimizer.zero_grad()
    loss = (model(torch.ones(2, 8)) ** 2).sum()
    loss.backward()
    return loss
for _ in range(5):
    optimizer.step(closure)
print(calls)
"""

WRAPPER = (
    MODEL
    + """
class Wrapper(torch.optim.Optimizer):
    def __init__(self, inner):
        super().__init__(inner.param_groups, {})
        self.inner = inner
    def step(self, closure=None):
        self.inner.step()

optimizer = Wrapper(optimizer)
for _ in range(5):
    step()
"""
)

SUBCLASS = (
    MODEL
    + """
step()
class Mine(torch.optim.SGD):
    def step(self, closure=None):
        return super().step(closure)

optimizer = Mine(model.parameters(), lr=1e-3)
for _ in range(4):
    step()
"""
)

IN_BACKWARD = """
import torch
model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Linear(8, 1))
optimizers = {p: torch.optim.SGD([p], lr=1e-3) for p in model.parameters()}
def update(p):
    optimizers[p].step()
    optimizers[p].zero_grad()
for p in model.parameters():
    p.register_post_accumulate_grad_hook(update)
for _ in range(6):
    model(torch.ones(2, 8)).sum().backward()
"""

RAISING = (
    MODEL
    + """
optimizer_step = optimizer.step
def failing():
    raise ValueError
for failed in (False, True, False, False, True, True, False):
    try:
        optimizer.step(failing if failed else None)
    except ValueError:
        pass
for p in model.parameters():
    p.register_post_accumulate_grad_hook(lambda p: optimizer.step(failing))
for _ in range(2):
    try:
        model(torch.ones(4, 8)).sum().backward()
    except ValueError:
        pass
for p in model.parameters():
    p._post_accumulate_grad_hooks.clear()
for _ in range(3):
    step()
"""
)

REPLACED = (
    MODEL
    + """
for _ in range(3):
    step()
optimizer = torch.optim.Adam(model.parameters())
for _ in range(4):
    step()
"""
)


def test_one_optimizer(train: Train) -> None:
    """Each call of step is a step."""
    recorded = train(MODEL + "for _ in range(5): step()\n")
    assert len(recorded.steps) == 5
    assert recorded.counts("optimizer_steps") == [1] * 5
    assert recorded.rank.complete
    assert recorded.rank.hook_s is not None
    assert 0 < recorded.rank.hook_s < 0.1
    check_parts(recorded.steps)


def test_two_optimizers_by_turns(train: Train) -> None:
    """A step of a GAN holds one update of either network."""
    recorded = train(TWO_OPTIMIZERS.format(updates=1))
    assert len(recorded.steps) == 6
    assert recorded.counts("optimizer_steps") == [1, 2, 2, 2, 2, 2]
    assert recorded.counts("backwards") == [1, 2, 2, 2, 2, 2]
    check_parts(recorded.steps)


def test_one_of_two_steps_twice(train: Train) -> None:
    """Where one optimizer steps twice in an iteration, each of its updates ends a step."""
    recorded = train(TWO_OPTIMIZERS.format(updates=2))
    assert len(recorded.steps) == 12
    assert recorded.counts("optimizer_steps") == [1, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1]


def test_gradient_accumulation(train: Train) -> None:
    """Micro-batches are backward passes of one step."""
    recorded = train(ACCUMULATION)
    assert recorded.counts("optimizer_steps") == [1] * 5
    assert recorded.counts("backwards") == [4] * 5


def test_closures(train: Train) -> None:
    """LBFGS calls its closure several times in one step; their backward passes are not optimizer time."""
    recorded = train(CLOSURES)
    assert len(recorded.steps) == 5
    backwards = recorded.counts("backwards")
    assert sum(filter(None, backwards)) == int(recorded.process.stdout)
    assert all(count and count > 1 for count in backwards)
    assert min(recorded.steps.parts["optimizer"]) > 0
    assert min(recorded.steps.parts["backward"]) > 0
    check_parts(recorded.steps)


def test_optimizers_inside_optimizers(train: Train) -> None:
    """An optimizer that wraps another, or its own base class, takes one step and not two."""
    assert train(WRAPPER).counts("optimizer_steps") == [1] * 5
    assert train(SUBCLASS).counts("optimizer_steps") == [1, 2, 1, 1]


def test_optimizers_in_backward_hooks(train: Train) -> None:
    """An optimizer per parameter that steps inside backward is one step for all of them together."""
    recorded = train(IN_BACKWARD)
    assert len(recorded.steps) == 6
    assert recorded.counts("optimizer_steps") == [1, 4, 4, 4, 4, 4]
    check_parts(recorded.steps)
    assert min(recorded.steps.parts["backward"][1:]) > 0


def test_steps_that_raise(train: Train) -> None:
    """A step that ends in an exception is no step, and those after it are counted and timed as before."""
    recorded = train(RAISING)
    assert recorded.process.returncode == 0, recorded.process.stderr
    assert len(recorded.steps) == 7
    check_parts(recorded.steps)
    last = {part: seconds[-1] for part, seconds in recorded.steps.parts.items()}
    assert last["backward"] > 0
    assert last["rest"] > 0


def test_an_optimizer_that_is_replaced(train: Train) -> None:
    """A second optimizer that takes over joins the step that runs, and then ends its own."""
    recorded = train(REPLACED)
    assert len(recorded.steps) == 6
    assert recorded.counts("optimizer_steps") == [1, 1, 1, 2, 1, 1]


def test_the_loop_is_named_once(train: Train) -> None:
    """The user's line that asks for the first update is told, and only that one."""
    recorded = train(MODEL + "for _ in range(3): step()\n")
    (event,) = recorded.events("loop")
    assert str(event.fields["file"]).endswith("train.py")
    assert event.fields["line"] == MODEL.splitlines().index("    optimizer.step()") + 1
    assert event.step == 0
