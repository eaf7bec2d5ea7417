"""``ResumeManager`` inside of training frameworks, one file each; each needs its framework installed.

accelerate needs none: ``accelerator.register_for_checkpointing(manager)``.
"""
