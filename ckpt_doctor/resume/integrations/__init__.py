"""``ResumeManager`` inside of training frameworks, one file each; each needs its framework installed.

accelerate needs none: ``accelerator.register_for_checkpointing(manager)``. With several processes it
deals the batches of one sampler (``ResumableRandomSampler``) to them, and evens out the end of an
epoch with the batches that came first in this process: a resumed run ends its epoch exactly alike only
if the batches go around, or with ``drop_last=True``.
"""
