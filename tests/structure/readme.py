"""The README as data: commands, Python, the table of exit codes, and the block that holds the demo's output.

``python -m tests.structure.readme`` runs the demo and puts its real output into the block.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

from tests.structure.source import ROOT

README = ROOT / "README.md"

_BLOCK = re.compile(r"(<!-- demo-output -->\n```text\n)(.*?)(```\n<!-- /demo-output -->)", re.DOTALL)


def commands() -> list[list[str]]:
    """The words of every command in a console block, in order."""
    blocks = re.findall(r"^```console\n(.*?)^```", README.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    lines = (line for block in blocks for line in block.splitlines())
    return [shlex.split(line.removeprefix("$ ")) for line in lines if line.startswith("$ ")]


def python_blocks(title: str) -> list[str]:
    """The Python of a section, block by block."""
    _, _, rest = README.read_text("utf-8").partition(f"\n## {title}\n")
    return re.findall(r"^```python\n(.*?)^```", rest.partition("\n## ")[0], re.DOTALL | re.MULTILINE)


def exit_codes() -> dict[int, str]:
    """The table of exit codes: code to meaning."""
    rows = re.findall(r"^\| (\d+) \| (.+) \|$", README.read_text("utf-8"), re.MULTILINE)
    return {int(code): meaning for code, meaning in rows}


def paths() -> set[str]:
    """Every file or folder of the package that is named."""
    return set(re.findall(r"`(ckpt_doctor/[\w./]*)`", README.read_text("utf-8")))


def demo_output() -> str:
    """What stands in the block for the demo's output."""
    match = _BLOCK.search(README.read_text("utf-8"))
    assert match is not None, "README.md has lost its block for the demo's output"
    return match[2]


def fill(output: str) -> None:
    """Replace the demo's output."""
    text = README.read_text("utf-8")
    README.write_text(_BLOCK.sub(lambda match: match[1] + output + match[3], text), "utf-8")


if __name__ == "__main__":
    demo = subprocess.run(
        [sys.executable, "-m", "ckpt_doctor", "demo"], stdout=subprocess.PIPE, text=True, check=False
    )
    if demo.returncode != 1:
        sys.exit(f"the demo exited with {demo.returncode}, not with 1 (findings)")
    fill(demo.stdout)
