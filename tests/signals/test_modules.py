"""The modules that a process calls, and what they are made of."""

from __future__ import annotations

from collections.abc import Mapping

from tests.conftest import Train
from tests.recorded import MODEL, Recorded

FROZEN = """
import torch
torch.manual_seed(0)
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(8, 8).requires_grad_({trained}).to(torch.bfloat16)
        self.head = torch.nn.Linear(8, 1)
    def forward(self, x):
        return self.head(self.body(x.bfloat16()).float())
model, critic = Net(), torch.nn.Linear(1, 1, bias=False)
unused = torch.nn.Linear(1000, 1000)
old = torch.nn.Parameter(torch.ones(8))
old.grad = torch.zeros(8)
adam = torch.optim.Adam([*model.parameters(), old])
sgd = torch.optim.SGD(critic.parameters(), lr=1e-3)
def step():
    adam.zero_grad(set_to_none=False)
    sgd.zero_grad()
    critic(model(torch.ones(4, 8))).sum().backward()
    adam.step()
    sgd.step()
for _ in range(4): step()
"""

SPARSE = """
import torch
table = torch.nn.Embedding(100, 4, sparse={sparse})
optimizer = torch.optim.SGD(table.parameters(), lr=1e-3)
for _ in range(4):
    optimizer.zero_grad()
    table(torch.tensor([1, 2, 2])).sum().backward()
    optimizer.step()
"""

HOOKED = (
    MODEL
    + """
class Counter:
    calls = 0
    def __call__(self, *args): Counter.calls += 1
for _ in range({times}):
    model.register_forward_hook(Counter())
    model.register_full_backward_hook(Counter())
    model.weight.register_hook(Counter())
    model.bias.register_post_accumulate_grad_hook(Counter())
torch.nn.modules.module.register_module_forward_hook(Counter())
for _ in range(4): step()
print(Counter.calls)
"""
)

CONVOLUTION = """
import torch
model = torch.nn.Sequential(torch.nn.Conv2d(4, 8, 3), torch.nn.Conv2d(8, 8, 1), torch.nn.Flatten(),
                            torch.nn.LazyLinear(1))
model(torch.ones(1, 4, 6, 6))
model = model.to(memory_format=torch.{format})
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for _ in range(4):
    optimizer.zero_grad()
    model(torch.ones(2, 4, 6, 6)).sum().backward()
    optimizer.step()
"""

SKIPPING = (
    MODEL
    + """
scaler = torch.amp.GradScaler("cpu")
for number in range(8):
    optimizer.zero_grad()
    scaler.scale(model(torch.ones(4, 8)).sum()).backward()
    if number < 5:
        model.weight.grad[0, 0] = float("inf")
    scaler.step(optimizer)
    scaler.update()
"""
)

COMPILED = """
import torch
inner = torch.nn.Linear(8, 1)
{compile}
optimizer = torch.optim.SGD(inner.parameters(), lr=1e-3)
for _ in range(4):
    optimizer.zero_grad()
    model(torch.ones(4, 8)).sum().backward()
    optimizer.step()
"""


def values(recorded: Recorded) -> Mapping[str, object]:
    """What the last fingerprint says of the modules."""
    assert recorded.process.returncode == 0, recorded.process.stderr
    last = recorded.rank.fingerprints[-1].values
    return {name.removeprefix("modules."): v for name, v in last.items() if name.startswith("modules.")}


def test_what_is_called_is_the_model(train: Train) -> None:
    """Several roots with all that they hold; neither what is never called nor what no module holds."""
    found = values(train(FROZEN.format(trained=False)))
    assert found == {
        "count": 4,
        "training": 4,
        "elements": 72 + 9 + 1,
        "dtypes": "bfloat16:72,float32:10",
        "channels_last": 0,
        "trainable_elements": 10,
        "optimized_parameters": 3,
        "optimized_elements": 10,
        "optimized_bytes": 40,
        "gradient_parameters": 3,
        "gradient_elements": 10,
        "gradient_layouts": "strided:3",
        "hooks": 0,
    }


def test_what_is_not_frozen_receives_gradients(train: Train) -> None:
    """The same model with its body trained."""
    found = values(train(FROZEN.format(trained=True)))
    assert found["trainable_elements"] == found["gradient_elements"] == found["optimized_elements"] == 82
    assert found["optimized_bytes"] == 72 * 2 + 10 * 4
    assert found["elements"] == 82


def test_sparse_gradients_are_no_dense_elements(train: Train) -> None:
    """A table whose rows are trained one by one, and the same with all its rows."""
    sparse, dense = (values(train(SPARSE.format(sparse=kind))) for kind in (True, False))
    assert (sparse["gradient_elements"], sparse["gradient_layouts"]) == (0, "sparse_coo:1")
    assert (dense["gradient_elements"], dense["gradient_layouts"]) == (400, "strided:1")
    assert sparse["optimized_elements"] == dense["optimized_elements"] == 400


def test_hooks_are_counted_without_the_agent_s_own(train: Train) -> None:
    """On modules, on parameters, and on all modules at once; registered twice, they are twice as many."""
    once, twice = (values(train(HOOKED.format(times=times))) for times in (1, 2))
    assert (once["hooks"], twice["hooks"]) == (5, 9)


def test_an_optimizer_that_has_not_stepped_yet_is_unknown(train: Train) -> None:
    """A scaler that skips the first updates keeps it from being seen: that is no model without parameters."""
    recorded = train(SKIPPING)
    first, last = (recorded.rank.fingerprints[number].values for number in (0, -1))
    assert first["modules.elements"] == last["modules.elements"] == 9
    assert {name for name in last if name not in first} >= {"modules.optimized_bytes", "model.dtypes"}


def test_channels_last(train: Train) -> None:
    """Only what has two different orders counts: a 1x1 kernel is the same in both."""
    last, first = (
        values(train(CONVOLUTION.format(format=f))) for f in ("channels_last", "contiguous_format")
    )
    assert (last["channels_last"], first["channels_last"]) == (1, 0)
    assert last["elements"] == first["elements"]


def test_what_is_compiled_before_it_is_called_is_known_by_that(train: Train) -> None:
    """No hook sees a compiled call; ``torch.compile`` and ``Module.compile`` are told the module."""
    for how in (
        "model = torch.compile(inner, backend='eager')",
        "inner.compile(backend='eager'); model = inner",
        "model = torch.compile(backend='eager')(inner)",
    ):
        assert values(train(COMPILED.format(compile=how)))["elements"] == 9


def test_a_compiled_function_leaves_the_modules_unknown(train: Train) -> None:
    """What it calls is seen by nobody, so nothing is said."""
    assert (
        values(train(COMPILED.format(compile="model = torch.compile(lambda x: inner(x), backend='eager')")))
        == {}
    )
