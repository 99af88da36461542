"""What an evaluation says of a patch: resolved, not resolved, or not measured.

`of_harness` reads what `swebench.harness.run_evaluation` left: its report, its summary with the labels of what was the
infrastructure's fault, and the log of the instance where there is no report. `of_log` grades a log of the sandbox by
the official rule: every test of FAIL_TO_PASS passes, and every one of PASS_TO_PASS passes or is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt.core.json_types import JsonObject, as_array, as_object, as_text, parse_json
from skillopt.core.shorten import shorten
from skillopt.envs.swebench.run_tests import END, EXIT_CODE, START

LOGS = Path("logs/run_evaluation")
_STATUS = re.compile(r"^(PASSED|FAILED|ERROR|SKIPPED|XFAIL) (\S+)", re.MULTILINE)
_EXIT = re.compile(rf"{re.escape(EXIT_CODE)}:\s*(-?\d+)")
_NOT_APPLIED = ">>>>> Patch Apply Failed"
_TIMED_OUT = re.compile(r"Test timed out after (\d+) seconds")
_PASSED, _FAILED = ("PASSED", "XFAIL"), ("FAILED", "ERROR")


@dataclass(frozen=True)
class Verdict:
    """`missing` says why nothing was measured; else `resolved`, and `reason` in one line where it is not."""

    resolved: bool = False
    reason: str = ""
    missing: str = ""

    def to_json(self) -> JsonObject:
        """As a worker answers."""
        return {"resolved": self.resolved, "reason": self.reason, "missing": self.missing}

    @classmethod
    def from_json(cls, value: JsonObject) -> Verdict:
        """The inverse."""
        return cls(bool(value.get("resolved")), as_text(value.get("reason")), as_text(value.get("missing")))


def statuses(log: str) -> dict[str, str] | None:
    """Test → status; None where the tests did not run to their end, or the log contradicts their exit code."""
    if START not in log or END not in log:
        return None
    found = {name: status for status, name in _STATUS.findall(log.split(START)[1].split(END)[0])}
    exit_code = _EXIT.search(log)
    failed = any(status in _FAILED for status in found.values())
    if not found or (exit_code is not None and int(exit_code[1]) and not failed):
        return None
    return found


def of_log(log: str, fail_to_pass: Sequence[str], pass_to_pass: Sequence[str]) -> Verdict:
    """The verdict of a log of the sandbox."""
    found = statuses(log)
    if found is None:
        return Verdict(reason="the tests did not run to their end")
    unfixed = [name for name in fail_to_pass if found.get(name) not in _PASSED]
    broken = [name for name in pass_to_pass if found.get(name) not in (*_PASSED, "SKIPPED")]
    return Verdict(not unfixed and not broken, told(unfixed, broken))


def told(unfixed: Sequence[str], broken: Sequence[str]) -> str:
    """Which tests say no."""
    parts = [(unfixed, "should pass now and does not", "should pass now and do not"),
             (broken, "passed before and does not", "passed before and do not")]  # fmt: skip
    return "; ".join(
        f"{shorten(names[0], 120)} {one}" if len(names) == 1 else f"{len(names)} tests {many}: {_first(names)}"
        for names, one, many in parts
        if names
    )


def _first(names: Sequence[str]) -> str:
    return shorten(", ".join(names[:3]) + (", …" if len(names) > 3 else ""), 200)


def of_harness(place: Path, run_id: str, model: str, instance_id: str, said: str = "") -> Verdict:
    """The verdict of an evaluation that was run in `place`; `said` is how its program ended, where that tells more."""
    logs = place / LOGS / run_id / model / instance_id
    summary = _json(place / f"{model}.{run_id}.json")
    reasons = as_object(summary.get("failure_reasons"))
    if instance_id in as_array(summary.get("infra_failure_ids")):
        return Verdict(missing=f"the evaluation failed: {as_text(reasons.get(instance_id)) or 'infrastructure'}")
    report = as_object(_json(logs / "report.json").get(instance_id))
    if not report:
        return _without_report(logs / "run_instance.log", said)
    if report.get("infra_failure"):
        return Verdict(missing=f"the evaluation failed: {as_text(report.get('infra_failure_reason'))}")
    if report.get("resolved"):
        return Verdict(resolved=True)
    tests = as_object(report.get("tests_status"))
    failures = {name: _failures(tests, name) for name in ("FAIL_TO_PASS", "PASS_TO_PASS")}
    reason = told(failures["FAIL_TO_PASS"], failures["PASS_TO_PASS"])
    return Verdict(reason=reason or "the tests did not run to their end")


def _failures(tests: Mapping[str, object], name: str) -> list[str]:
    return [as_text(test) for test in as_array(as_object(tests.get(name)).get("failure"))]


def _without_report(log: Path, said: str) -> Verdict:
    """The harness gave no verdict: the patch's own fault where its log says so, else nobody measured anything."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
    if _NOT_APPLIED in text:
        return Verdict(reason="the patch does not apply")
    slow = _TIMED_OUT.search(text)
    if slow is not None:
        return Verdict(reason=f"the tests had not ended after {slow[1]} s")
    lines = [line.strip() for line in text.splitlines() if "rror" in line]
    return Verdict(missing=f"the evaluation gave no verdict: {shorten(said or (lines or ['no log'])[-1], 300)}")


def _json(path: Path) -> dict[str, object]:
    try:
        return dict(as_object(parse_json(path.read_text(encoding="utf-8"))))
    except (OSError, ValueError):
        return {}
