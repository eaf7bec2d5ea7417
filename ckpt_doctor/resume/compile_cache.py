"""What torch.compile has made, kept with a checkpoint so that a resumed run does not compile again.

``torch.compiler.save_cache_artifacts()`` holds graphs and generated code; for CPUs it lacks what the
C++ compiler made, which takes most of the time: the libraries of the kernels, and small ones by
which inductor finds out what vector instructions there are. So these are kept beside it, by their
names in inductor's cache folder, which are hashes of source and compiler command: where either
differs, nobody looks for them. The header that torch precompiles is not kept: it has 150 MB, and
lies in another folder.

All of this is code. Loading it from a checkpoint runs what the checkpoint's author wrote, as
``weights_only=True`` does not: it is done only where a run asks for it.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch

_LIBRARY = ".so"
_PROBE = "_chk_kernel"
"""In the source of each library that tries vector instructions (``torch/_inductor/cpu_vec_isa.py``)."""


def cache_key() -> str:
    """What artifacts are made for: they are of no use to another torch, Python, processor or GPU."""
    parts = [
        f"torch {torch.__version__}",
        f"python {platform.python_version()}",
        f"{platform.system()} {platform.machine()}",
        f"cpu {torch.backends.cpu.get_cpu_capability()}",
    ]
    if torch.cuda.is_available():
        parts += [f"cuda {torch.version.cuda}", torch.cuda.get_device_name()]
    return ", ".join(parts)


def cache_state() -> dict[str, Any] | None:
    """The artifacts of this process with their key; None where nothing was compiled.

    Bytes are kept as uint8 tensors, which a checkpoint stores as they are.
    """
    if "torch._inductor" not in sys.modules:
        return None
    saved = torch.compiler.save_cache_artifacts()
    if saved is None:
        return None
    libraries = {str(path.relative_to(_folder())): path.read_bytes() for path in _libraries()}
    return {
        "key": cache_key(),
        "artifacts": _as_tensor(saved[0]),
        "libraries": [[name, len(content)] for name, content in libraries.items()],
        "library_bytes": _as_tensor(b"".join(libraries.values())),
    }


def load_cache(saved: Mapping[str, Any]) -> str | None:
    """Put artifacts into the cache folder of this process, before anything is compiled.

    Returns:
        None, or why they are of no use here.
    """
    key = cache_key()
    if saved["key"] != key:
        return f"made for {saved['key']}; this is {key}"
    content, at = _as_bytes(saved["library_bytes"]), 0
    for name, size_bytes in saved["libraries"]:
        _put(name, content[at : at + size_bytes])
        at += size_bytes
    if torch.compiler.load_cache_artifacts(_as_bytes(saved["artifacts"])) is None:
        return "torch could not read them"
    return None


def _libraries() -> list[Path]:
    """Libraries in the cache folder: of the kernels that this process has loaded, and the probes."""
    folder = _folder()
    paths = {Path(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())}
    kernels = [path for path in paths if path.suffix == _LIBRARY and folder in path.parents]
    return sorted([*kernels, *_probes(folder)]) if kernels else []


@cache
def _probes(folder: Path) -> tuple[Path, ...]:
    """They are made once, before the first kernel. Kernels are named ``*.main.so``, probes ``*.so``."""
    libraries = (path for path in folder.glob(f"??/*{_LIBRARY}") if "." not in path.stem)
    sources = ((path, path.with_suffix(".cpp")) for path in libraries)
    return tuple(path for path, source in sources if source.is_file() and _PROBE in source.read_text("utf-8"))


def _put(name: str, content: bytes) -> None:
    """Write a file that others may be looking for: all at once, not over what is there, and only inside."""
    folder = _folder()
    path = folder / name
    if path.exists() or not path.resolve().is_relative_to(folder.resolve()):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    unfinished.write_bytes(content)
    unfinished.chmod(0o755)
    unfinished.replace(path)


def _folder() -> Path:
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    return Path(cache_dir())


def _as_tensor(content: bytes) -> torch.Tensor:
    return torch.frombuffer(bytearray(content), dtype=torch.uint8) if content else torch.empty(0).byte()


def _as_bytes(tensor: torch.Tensor) -> bytes:
    return ctypes.string_at(tensor.data_ptr(), tensor.numel())
