"""What the keys and files of each framework mean, one module each, found by scanning this folder.

A module has

- ``NAME``: the layout's name in reports, as ``hf_trainer``;
- ``claims(bundle)``: 0 where the checkpoint is not of this framework; else how specific the marks
  are that were found. The highest figure wins; ``generic`` gives 1 to everything;
- ``states(bundle, found)``: the presence of every state, with the framework's own remedies.
"""
