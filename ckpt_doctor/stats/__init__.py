"""Pure statistics and attribution over facts. No I/O, no third-party packages."""
