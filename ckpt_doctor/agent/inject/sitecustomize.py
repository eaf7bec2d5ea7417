"""Brings the agent into a Python process: Python imports this module at start-up.

The folder of this file is put in front of PYTHONPATH. Once the agent is in, the folder leaves
``sys.path`` again, and the ``sitecustomize`` that would have been imported without it, is.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _load_agent(folder: str) -> None:
    """Import the package that this file belongs to, without making its folder importable."""
    package = os.path.dirname(os.path.dirname(folder))
    if "ckpt_doctor" not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            "ckpt_doctor", os.path.join(package, "__init__.py"), submodule_search_locations=[package]
        )
        if spec is None or spec.loader is None:
            raise ImportError(package)
        module = importlib.util.module_from_spec(spec)
        sys.modules["ckpt_doctor"] = module
        spec.loader.exec_module(module)
    from ckpt_doctor.agent import startup

    startup.begin()


def _chain(folder: str) -> None:
    """Run the sitecustomize that this one stands in front of, if there is one."""
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != folder]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize")
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


_FOLDER = os.path.dirname(os.path.abspath(__file__))
try:
    _load_agent(_FOLDER)
except Exception as error:  # noqa: BLE001 - whatever goes wrong, the user's script must run
    sys.stderr.write(f"ckpt-doctor: not measuring this process: {error!r}\n")
_chain(_FOLDER)
