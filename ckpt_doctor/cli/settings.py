"""What stands before the subcommand and outlives its failure."""

from __future__ import annotations


class Settings:
    """The options that hold for every command."""

    def __init__(self) -> None:
        self.debug = False
        """Whether the traceback of an error is shown."""
        self.read = False
        """Whether all that stands before the subcommand was read: from there on exit codes are ours."""
