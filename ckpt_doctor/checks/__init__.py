"""Rules: facts in, findings out. One file a rule, found by scanning; no I/O."""
