"""Runs the benchmarks that finish within minutes, and writes RESULTS.md: ``make bench``."""

from __future__ import annotations

import subprocess
import sys

BENCHMARKS = ("inspect", "overhead", "peers", "traces", "resume")


def main() -> int:
    """Run each in a process of its own, so that none finds another's imports; the first failure's code."""
    for name in BENCHMARKS:
        print(f"\n{name}", flush=True)
        command = [sys.executable, "-m", f"tests.benchmarks.{name}", "--write"]
        code = subprocess.run(command, check=False).returncode
        if code != 0:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
