"""The report for other programs: everything, in SI units, described by ``schema.json`` beside this file.

Names are part of the contract: they may be added to, never renamed. What is not known is null;
NaN and infinity never appear.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ckpt_doctor import __version__
from ckpt_doctor.facts.checkpoint import CheckpointFacts, OptimizerFacts
from ckpt_doctor.facts.report import Evidence, Finding, Location, Report
from ckpt_doctor.report.wording.json_values import cleaned

if TYPE_CHECKING:
    from ckpt_doctor.facts.checklist import ChecklistItem
    from ckpt_doctor.facts.checkpoint_comparison import CheckpointComparison
    from ckpt_doctor.facts.comparison import (
        Comparison,
        Contention,
        Interference,
        Interval,
        OrderCheck,
        PairRatio,
        StartCost,
        Window,
    )
    from ckpt_doctor.facts.policy import Policy
    from ckpt_doctor.facts.treatment import Confirmation

SUFFIXES = (".json",)

Json = dict[str, Any]


def render(report: Report) -> str:
    """The report as JSON text, one document, with a newline at its end."""
    return json.dumps(cleaned(document(report)), indent=2, allow_nan=False) + "\n"


def document(report: Report) -> Json:
    """The report as plain dictionaries, before numbers that JSON lacks are made null."""
    return {
        "schema_version": report.schema_version,
        "tool": {"name": "ckpt-doctor", "version": __version__},
        "command": report.command,
        "verdict": _verdict(report),
        "budget": _budget(report.comparison),
        "resume_cost": _resume_cost(report.comparison),
        "findings": [_finding(finding, report) for finding in report.findings],
        "not_evaluated": [{"code": item.code, "why": item.why} for item in report.not_evaluated],
        "observer": _observer(report.comparison),
        "checkpoints": [_checkpoint(checkpoint) for checkpoint in report.checkpoints],
        "comparison": _comparison(report.comparison),
        "checkpoint_comparison": _checkpoint_comparison(report.checkpoint_comparison),
        "warnings": list(report.warnings),
        "context": dict(report.context),
        "policy": _policy(report.policy),
        "checklist": [_item(item) for item in report.checklist],
    }


def _verdict(report: Report) -> Json:
    verdict, comparison = report.verdict, report.comparison
    ratio = comparison.ratio if comparison else None
    return {
        "status": verdict.status.value,
        "side": verdict.side.value,
        "cause": verdict.cause,
        "confidence": verdict.confidence.value if verdict.confidence else None,
        "sentence": verdict.sentence,
        "next_step": verdict.next_step,
        "ratio": ratio.value if ratio else None,
        "ratio_low": ratio.low if ratio else None,
        "ratio_high": ratio.high if ratio else None,
        "before_step_s": comparison.before.step_s if comparison else None,
        "after_step_s": comparison.after.step_s if comparison else None,
        "before_samples_per_s": comparison.before.samples_per_s if comparison else None,
        "after_samples_per_s": comparison.after.samples_per_s if comparison else None,
        "detectable_ratio": comparison.detectable_ratio if comparison else None,
        "pairs": [_pair(pair) for pair in comparison.pairs] if comparison else [],
    }


def _pair(pair: PairRatio) -> Json:
    return {
        "before": pair.before,
        "after": pair.after,
        "ratio": pair.ratio.value,
        "ratio_low": pair.ratio.low,
        "ratio_high": pair.ratio.high,
    }


def _policy(policy: Policy | None) -> Json | None:
    if policy is None:
        return None
    return {
        "required": sorted(policy.required),
        "ignored": sorted(policy.ignored),
        "fail_on": policy.fail_on.value,
        "inconclusive_ok": policy.inconclusive_ok,
    }


def _item(item: ChecklistItem) -> Json:
    return {
        "name": item.name,
        "title": item.title,
        "status": item.status.value,
        "sentence": item.sentence,
        "codes": list(item.codes),
    }


def _budget(comparison: Comparison | None) -> list[Json]:
    if comparison is None:
        return []
    return [
        {
            "part": part.part,
            "before_s": part.before_s,
            "after_s": part.after_s,
            "delta_s": part.delta.value,
            "low_s": part.delta.low,
            "high_s": part.delta.high,
        }
        for part in comparison.budget
    ]


def _resume_cost(comparison: Comparison | None) -> Json | None:
    if comparison is None:
        return None
    return {**_start(comparison.after_start), "before": _start(comparison.before_start)}


def _start(start: StartCost) -> Json:
    return {
        "first_step_s": start.first_step_s,
        "parts": {
            "imports_s": start.imports_s,
            "load_s": start.load_s,
            "workers_s": start.workers_s,
            "fast_forward_s": start.fast_forward_s,
            "compile_s": start.compile_s,
        },
        "batches_drawn": start.batches_drawn,
    }


def _finding(finding: Finding, report: Report) -> Json:
    return {
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity.value,
        "side": finding.side.value,
        "summary": finding.summary,
        "share_ratio": finding.share_ratio,
        "delta_s": finding.delta_s,
        "shape": finding.shape.value if finding.shape else None,
        "confidence": finding.confidence.value,
        "evidence": [_evidence(evidence) for evidence in finding.evidence],
        "remedy": finding.remedy,
        "location": _line(finding.location),
        "shown_at": _line(_shown_at(finding, report)),
        "checkpoint": finding.checkpoint,
        "confirmation": _confirmation(finding.confirmation),
    }


def _confirmation(confirmation: Confirmation | None) -> Json | None:
    if confirmation is None:
        return None
    recovery = confirmation.recovery
    return {
        "confirmed": confirmation.confirmed,
        "treatment": confirmation.treatment,
        "recovered_s": recovery.recovered_s if recovery else None,
        "of_s": recovery.of_s if recovery else None,
        "share_ratio": recovery.share.value if recovery else None,
        "interval": _interval(recovery.share) if recovery else None,
        "why": confirmation.why,
        "cannot": confirmation.cannot,
        "sentence": confirmation.sentence,
    }


def _line(location: Location | None) -> Json | None:
    return {"file": location.file, "line": location.line} if location is not None else None


def _shown_at(finding: Finding, report: Report) -> Location | None:
    """Where to show the finding: its line or the nearest known one, relative to where the script ran."""
    if report.comparison is None:
        return finding.location
    from ckpt_doctor.report import wording
    from ckpt_doctor.report.wording.places import source_line

    location = source_line(finding, report)
    return location and Location(wording.relative_file(location.file, report), location.line)


def _evidence(evidence: Evidence) -> Json:
    return {
        "what": evidence.what,
        "value": evidence.value,
        "unit": evidence.unit,
        "source": evidence.source,
    }


def _observer(comparison: Comparison | None) -> Json:
    return {
        "agent_per_step_s": comparison.agent_per_step_s if comparison else None,
        "sampler_ratio": comparison.sampler_ratio if comparison else None,
    }


def _checkpoint(checkpoint: CheckpointFacts) -> Json:
    optimizers = [_optimizer(optimizer) for optimizer in checkpoint.optimizers]
    return {
        "path": checkpoint.path,
        "format": checkpoint.format,
        "layout": checkpoint.layout,
        "states": {
            kind.value: {
                "presence": presence.status.value,
                "detail": presence.detail.value if presence.detail else None,
                "where": presence.where,
                "why": presence.why,
                "remedy": presence.remedy,
            }
            for kind, presence in checkpoint.states.items()
        },
        "size_bytes": checkpoint.size_bytes,
        "read_bytes": checkpoint.read_bytes,
        "optimizer": optimizers[0] if optimizers else None,
        "more_optimizers": optimizers[1:],
        "tensors": {
            "count": len(checkpoint.tensors),
            "tensor_bytes": sum(tensor.tensor_bytes for tensor in checkpoint.tensors),
            "storage_bytes": _distinct_storage_bytes(checkpoint),
        },
        "missing_parts": list(checkpoint.missing_parts),
        "payload_bytes": checkpoint.payload_bytes,
        "executable_globals": list(checkpoint.executable_globals),
        "model_prefixes": list(checkpoint.model_prefixes),
        "compiled": checkpoint.compiled,
        "progress": dict(checkpoint.progress),
        "notes": list(checkpoint.notes),
    }


def _distinct_storage_bytes(checkpoint: CheckpointFacts) -> int:
    return sum({tensor.storage: tensor.storage_bytes for tensor in checkpoint.tensors}.values())


def _optimizer(optimizer: OptimizerFacts) -> Json:
    return {
        "where": optimizer.where,
        "algorithm": optimizer.algorithm,
        "groups": [
            {"parameters": group.parameters, "options": dict(group.options)} for group in optimizer.groups
        ],
        "entries": optimizer.entries,
        "state_bytes": optimizer.state_bytes,
        "expected_bytes": optimizer.expected_bytes,
        "bloat_ratio": optimizer.bloat_ratio,
        "surplus_bytes": dict(optimizer.surplus_bytes),
        "dtypes": dict(optimizer.dtypes),
        "devices": dict(optimizer.devices),
        "parameter_dtypes": list(optimizer.parameter_dtypes),
        "step_devices": list(optimizer.step_devices),
        "orphans": list(optimizer.orphans),
        "duplicates": list(optimizer.duplicates),
        "extra_keys": list(optimizer.extra_keys),
        "notes": list(optimizer.notes),
    }


def _comparison(comparison: Comparison | None) -> Json | None:
    if comparison is None:
        return None
    return {
        "shape": comparison.shape.value,
        "delta_s": comparison.delta_s,
        "effect_floor_ratio": comparison.effect_floor_ratio,
        "paired": comparison.paired,
        "before": _window(comparison.before),
        "after": _window(comparison.after),
        "order": _order(comparison.order),
        "counters": {
            name: {
                "unit": counter.unit,
                "before": counter.before,
                "after": counter.after,
                "delta": counter.delta,
            }
            for name, counter in comparison.counters.items()
        },
        "changes": [
            {"key": change.key, "before": change.before, "after": change.after}
            for change in comparison.changes
        ],
        "lines": [
            {
                "file": line.line.file,
                "line": line.line.line,
                "function": line.line.function,
                "before_s": line.before_s,
                "after_s": line.after_s,
                "delta_s": line.delta_s,
            }
            for line in comparison.lines
        ],
        "ranks": [
            {
                "rank": rank.rank,
                "before_step_s": rank.before_step_s,
                "after_step_s": rank.after_step_s,
                "before_busy_s": rank.before_busy_s,
                "after_busy_s": rank.after_busy_s,
            }
            for rank in comparison.ranks
        ],
        "slow_rank": comparison.slow_rank,
        "contention": _contention(comparison.contention),
        "interference": _interference(comparison.interference),
        "not_measured": dict(comparison.not_measured),
    }


def _checkpoint_comparison(comparison: CheckpointComparison | None) -> Json | None:
    if comparison is None:
        return None
    return {
        "before": comparison.before,
        "after": comparison.after,
        "lost": {kind.value: where for kind, where in comparison.lost.items()},
        "gained": {kind.value: where for kind, where in comparison.gained.items()},
        "changes": [
            {"what": each.what, "before": each.before, "after": each.after} for each in comparison.changes
        ],
        "sizes": [
            {"key": each.key, "before_bytes": each.before_bytes, "after_bytes": each.after_bytes}
            for each in comparison.sizes
        ],
    }


def _window(window: Window) -> Json:
    meta = window.run.meta
    return {
        "path": meta.path,
        "kind": meta.kind,
        "command": list(meta.command),
        "host": meta.host,
        "complete": meta.complete,
        "ended_by": meta.ended_by,
        "exit_code": meta.exit_code,
        "checkpoint": meta.checkpoint,
        "rank": window.rank.rank,
        "first_step": window.first,
        "last_step": window.last,
        "origin_step": window.origin,
        "steps": window.steps,
        "training_steps": window.training_steps,
    }


def _order(order: OrderCheck) -> Json:
    return {
        "restored": order.restored,
        "compared_steps": order.compared_steps,
        "first_difference": order.first_difference,
        "offset": order.offset,
        "source": order.source,
    }


def _contention(contention: Contention) -> Json:
    return {
        "run_queue_ratio_before": contention.run_queue_ratio_before,
        "run_queue_ratio_after": contention.run_queue_ratio_after,
        "other_cpu_ratio_before": contention.other_cpu_ratio_before,
        "other_cpu_ratio_after": contention.other_cpu_ratio_after,
        "steal_ratio": contention.steal_ratio,
        "stretch_ratio_before": contention.stretch_ratio_before,
        "stretch_ratio_after": contention.stretch_ratio_after,
    }


def _interference(interference: Interference | None) -> Json | None:
    if interference is None:
        return None
    return {
        "alone_step_s": interference.alone_step_s,
        "beside_step_s": interference.beside_step_s,
        "ratio": _interval(interference.ratio),
        "alone_physical_bytes_per_step": interference.alone_physical_bytes_per_step,
        "beside_physical_bytes_per_step": interference.beside_physical_bytes_per_step,
    }


def _interval(interval: Interval) -> Json:
    return {"value": interval.value, "low": interval.low, "high": interval.high}
