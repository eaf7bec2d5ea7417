"""Names in a pickle that would run code of the file's choosing when it is loaded unguarded.

Every class of a pickle runs some code. These are the ones that a checkpoint has no business with,
whatever their arguments: shells, files, sockets, compilers, other loaders. ``getattr`` and
``functools.partial`` stand in honest files and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from ckpt_doctor.readers.tree import Global

_MODULES = frozenset(
    [
        "os",
        "posix",
        "nt",
        "posixpath",
        "ntpath",
        "subprocess",
        "socket",
        "pty",
        "shutil",
        "webbrowser",
        "runpy",
        "code",
        "codeop",
        "timeit",
        "pdb",
        "bdb",
        "importlib",
        "imp",
        "marshal",
        "ctypes",
        "_ctypes",
        "multiprocessing",
        "asyncio",
        "http",
        "ftplib",
        "urllib",
        "requests",
        "smtplib",
        "ssl",
        "sys",
        "commands",
        "popen2",
        "tempfile",
        "pip",
        "pydoc",
        "doctest",
        "cProfile",
        "profile",
        "trace",
        "distutils",
        "setuptools",
        "signal",
        "_posixsubprocess",
        "venv",
        "ensurepip",
        "idlelib",
        "lib2to3",
        "zipimport",
        "gc",
        "inspect",
    ]
)
_BUILTINS = frozenset(
    [
        "eval",
        "exec",
        "compile",
        "open",
        "__import__",
        "input",
        "breakpoint",
        "execfile",
        "file",
        "apply",
        "globals",
        "locals",
        "vars",
        "setattr",
        "delattr",
        "exit",
        "quit",
    ]
)
_EXACT = frozenset(
    {
        "torch.hub.load", "torch.hub.load_state_dict_from_url", "torch.hub.download_url_to_file",
        "torch.load", "torch.serialization.load", "torch.jit.load",
        "torch.utils._config_module.load_config", "torch.ops.load_library",
        "torch._inductor.codecache.compile_file", "numpy.load",
        "numpy.testing._private.utils.runstring", "numpy.f2py.crackfortran.getlincoef",
        "numpy.fromfile", "operator.attrgetter", "operator.methodcaller", "operator.itemgetter",
        "pickle.load", "pickle.loads", "_pickle.load", "_pickle.loads", "dill.loads", "joblib.load",
        "types.CodeType", "types.FunctionType", "builtins.type", "pandas.read_pickle", "io.FileIO",
        "_io.FileIO", "io.open", "codecs.open", "pathlib.Path.unlink", "shelve.open",
        "sqlite3.connect",
    }
)  # fmt: skip
_HONEST = frozenset(
    {"signal.Signals", "signal.Handlers", "inspect._empty", "multiprocessing.context.SpawnContext"}
)


def executable(names: Iterable[Global]) -> tuple[str, ...]:
    """Those of the names that would run code, in alphabetical order."""
    return tuple(sorted({name.path for name in names if _runs_code(name)}))


def _runs_code(name: Global) -> bool:
    full = f"{name.module}.{name.name}"
    if full in _HONEST:
        return False
    if name.module in ("builtins", "__builtin__"):
        return name.name.partition(".")[0] in _BUILTINS
    return name.module.partition(".")[0] in _MODULES or full in _EXACT
