"""Resume a training run as if it had never stopped: the same batches, the same losses, at the same speed.

``ResumableState`` lists what the run is made of, ``ResumeManager`` saves and loads it, and the
samplers and ``SeededDataset`` make the data come in the same order and with the same augmentations.
This part of the package needs torch; it works in plain loops, and through ``integrations`` in
Lightning and the Hugging Face Trainer.
"""

from ckpt_doctor.resume.dataset import SeededDataset
from ckpt_doctor.resume.manager import ResumeManager
from ckpt_doctor.resume.report import Outcome, PartReport, RankReport, ResumeReport
from ckpt_doctor.resume.samplers.base import ResumableSampler
from ckpt_doctor.resume.samplers.distributed import ResumableDistributedSampler
from ckpt_doctor.resume.samplers.random import ResumableRandomSampler
from ckpt_doctor.resume.samplers.shards import ResumableShardSampler
from ckpt_doctor.resume.samplers.weighted import ResumableWeightedSampler
from ckpt_doctor.resume.state import ResumableState

__all__ = [
    "Outcome",
    "PartReport",
    "RankReport",
    "ResumableDistributedSampler",
    "ResumableRandomSampler",
    "ResumableSampler",
    "ResumableShardSampler",
    "ResumableState",
    "ResumableWeightedSampler",
    "ResumeManager",
    "ResumeReport",
    "SeededDataset",
]
