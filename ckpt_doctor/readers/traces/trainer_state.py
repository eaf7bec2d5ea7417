"""``trainer_state.json`` of the Hugging Face Trainer.

Its ``log_history`` has losses and step numbers, and a time only where the Trainer counts the tokens it has
seen (``include_num_input_tokens_seen``): then each entry has ``train_runtime``, seconds since this session
began. Speeds in it are the Trainer's own: after a resume, the last entry divides the steps of all sessions by
the time of one.
"""

from __future__ import annotations

import re

from ckpt_doctor.facts.run import RunRecord
from ckpt_doctor.readers.columns import is_rate, is_step_rate, number
from ckpt_doctor.readers.evidence import Evidence, Hints, TraceFile
from ckpt_doctor.readers.json_text import JsonText
from ckpt_doctor.readers.limits import Malformed
from ckpt_doctor.readers.step_log import Log, runs_of
from ckpt_doctor.readers.text import clean

NAME = "trainer_state.json"
ORDER = 30
IN_FOLDERS = False

_KEYS = re.compile(r'^\s*\{\s*"(best_global_step|best_metric|best_model_checkpoint|epoch|global_step)"\s*:')
"""The file's keys are sorted."""
_HISTORY = "log_history"
_SUMMARY = "total_flos"
"""Only the entry that sums up a session has it."""


def claims(file: TraceFile, hints: Hints) -> bool:
    """An object that begins as the Trainer's state does."""
    text = file.head_text
    return _KEYS.match(text) is not None and ("log_history" in text or "best_model_checkpoint" in text)


def read(evidence: Evidence) -> list[RunRecord]:
    """See ``traces``.

    Raises:
        Malformed: It is damaged, or holds no times.
    """
    (file,) = evidence.files
    log = Log()
    text = JsonText(file.chunks())
    for key in text.keys():  # noqa: SIM118 - this is no dict
        if key != _HISTORY:
            text.value()
            continue
        for entry in text.items():
            if isinstance(entry, dict):
                _take(log, entry)
    try:
        return runs_of(log, evidence.path, NAME)
    except Malformed as error:
        raise Malformed(
            "it holds losses and steps, but no times",
            "compare the TensorBoard folders or the console logs instead; the Trainer writes times "
            "into this file with include_num_input_tokens_seen",
        ) from error


def _take(log: Log, entry: dict[str, object]) -> None:
    """Add an entry of the training; the summary of a session tells nothing but its own speed."""
    step, runtime_s = number(entry.get("step")), number(entry.get("train_runtime"))
    rates = {clean(name, 80): value for name, v in entry.items() if is_rate(name) and (value := number(v))}
    log.step_rates.update(name for name in rates if is_step_rate(name))
    values = {}
    if step is not None:
        values["step"] = step
    if runtime_s is not None and _SUMMARY not in entry:
        values["time_s"] = runtime_s
    if "time_s" in values or rates:
        log.add(values, rates)
