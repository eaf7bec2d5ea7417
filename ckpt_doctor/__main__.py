"""``python -m ckpt_doctor`` is the ``ckpt-doctor`` command."""

from ckpt_doctor.cli.app import main

if __name__ == "__main__":
    main()
