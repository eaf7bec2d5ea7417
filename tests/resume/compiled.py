"""Trains a compiled model in the folder that is given, from its newest checkpoint, and tells what it took.

Called with the folder and the number of steps; prints JSON.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import torch
from torch import nn
from torch._dynamo.utils import counters
from torch._inductor.cpp_builder import CppBuilder

from ckpt_doctor.resume import ResumableState, ResumeManager

compiled_by_cpp: list[str] = []


def watch_the_compiler() -> None:
    """Note each run of the C++ compiler that makes a kernel's library."""
    build = CppBuilder.build

    def noted(builder: Any) -> None:
        compiled_by_cpp.append(builder.get_target_file_path())
        build(builder)

    CppBuilder.build = noted  # type: ignore[method-assign]


class Block(nn.Module):
    """Layers whose pointwise parts are worth fusing."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.inner, self.outer = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """A residual block."""
        gate, value = self.inner(self.norm(x)).sigmoid(), self.inner(x).tanh()
        return x + self.outer(gate * value * torch.cos(value))


def main(folder: str, steps: int) -> None:
    """Train."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    watch_the_compiler()
    model = nn.Sequential(*(Block(16) for _ in range(4)))
    compiled = torch.compile(model)
    optimizer = torch.optim.Adam(model.parameters())
    state = ResumableState(model=compiled, optimizer=optimizer, compile_cache=True)
    manager = ResumeManager(state, folder)
    report = manager.load()
    began_s = time.perf_counter()
    first_s = None
    losses = []
    for _ in range(steps):
        loss = compiled(torch.rand(8, 16)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        state.step += 1
        losses.append(loss.item().hex())
        first_s = first_s or time.perf_counter() - began_s
    manager.save()
    caches = {**counters["inductor"], **counters["aot_autograd"]}
    told = {
        "first_step_s": first_s,
        "hits": {name: count for name, count in caches.items() if "hit" in name},
        "misses": {name: count for name, count in caches.items() if "miss" in name},
        "compiled": compiled_by_cpp,
        "losses": losses,
        "complete": None if report is None else report.complete,
        "lines": [] if report is None else report.lines(),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
