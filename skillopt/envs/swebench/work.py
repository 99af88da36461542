"""The worker's side: grading one patch, in a sandbox or by the official harness.

Both answer with the fields of `grading.Verdict`. `check_in_sandbox` has a repository in its payload, applies the patch,
puts the item's own tests over it and runs them confined. `check_by_harness` writes the instance and the prediction as
the files that `python -m swebench.harness.run_evaluation` reads, under a run id that is the digest of both: the same
prediction is not evaluated twice on one machine.
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import sys
from pathlib import Path

import platformdirs

from skillopt.core.hashing import digest
from skillopt.core.json_types import JsonObject, as_array, as_number, as_object, as_text
from skillopt.core.shorten import shorten
from skillopt.envs.swebench.dataloader import files_in
from skillopt.envs.swebench.grading import Verdict, of_harness, of_log
from skillopt.envs.swebench.patch import PatchError, applied
from skillopt.envs.workbench import Workbench
from skillopt.harnesses.launch import Finished, Launch, run
from skillopt.work.confinement.sandbox import Limits
from skillopt.work.handling import Unit

SANDBOX = "skillopt.envs.swebench.work:check_in_sandbox"
HARNESS = "skillopt.envs.swebench.work:check_by_harness"
MODEL = "skillopt"
HARNESS_SECONDS = 7200.0
_RUNNER = Path(__file__).with_name("run_tests.py")
_NO_FILE = (errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG)
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY")


async def check_in_sandbox(payload: JsonObject, unit: Unit) -> JsonObject:
    """Payload `{files, test_files, patch, fail_to_pass, pass_to_pass, seconds, memory_mb}`."""
    named = [[as_text(test) for test in as_array(payload[key])] for key in ("fail_to_pass", "pass_to_pass")]
    limits = Limits(as_number(payload["seconds"]) or 120.0, int(as_number(payload["memory_mb"]) or 1024))
    with Workbench("skillopt-swe-", reads=(_RUNNER,)) as bench:
        try:
            files = applied(files_in(payload["files"]), as_text(payload["patch"]))
            write_files(bench.folder, {**files, **files_in(payload["test_files"])})
            ended = await bench.launched((str(_RUNNER), *named[0], *named[1]), limits, guarded=unit.guarded)
        except PatchError as error:
            return Verdict(reason=f"the patch does not apply: {error}").to_json()
        except asyncio.TimeoutError:
            return Verdict(reason=f"the tests had not ended after {limits.seconds:g} s").to_json()
        except OSError as error:
            return Verdict(missing=shorten(str(error), 400)).to_json()
    return of_log(ended.stdout, *named).to_json()


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write a repository below a directory. Raises `PatchError` for what no file can be, and `OSError`."""
    for name, text in files.items():
        target = folder / name
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(text.encode("utf-8", "surrogateescape"))
        except ValueError:
            raise PatchError(f"{shorten(name, 100)!r} holds what no file can hold") from None
        except OSError as error:
            if error.errno not in _NO_FILE:
                raise
            raise PatchError(f"{shorten(name, 100)!r} cannot be a file: {error.strerror}") from None


async def check_by_harness(payload: JsonObject, unit: Unit) -> JsonObject:
    """Payload `{instance, patch, seconds}`."""
    instance, patch = as_object(payload["instance"]), as_text(payload["patch"])
    instance_id = as_text(instance.get("instance_id"))
    run_id = run_id_of(instance, patch)
    place = Path(platformdirs.user_cache_dir("skillopt", appauthor=False)) / "swebench" / run_id
    said = ""
    try:
        await asyncio.to_thread(write_inputs, place, instance, patch)
        ended = await asyncio.wait_for(
            run(
                _launch(place, run_id, as_number(payload["seconds"]) or 1800.0), place / "streams", guarded=unit.guarded
            ),
            HARNESS_SECONDS,
        )
        said = _fault(ended)
    except asyncio.TimeoutError:
        said = f"it had not ended after {HARNESS_SECONDS:g} s"
    except OSError as error:
        said = str(error)
    return of_harness(place, run_id, MODEL, instance_id, said).to_json()


def run_id_of(instance: JsonObject, patch: str) -> str:
    """The name of an evaluation: what it depends on."""
    return digest({"instance": dict(instance), "predictions": [prediction(as_text(instance["instance_id"]), patch)]})[
        :20
    ]


def prediction(instance_id: str, patch: str, model: str = MODEL) -> JsonObject:
    """One line of an official prediction file."""
    return {"instance_id": instance_id, "model_name_or_path": model, "model_patch": patch}


def write_inputs(place: Path, instance: JsonObject, patch: str) -> None:
    """`instances.jsonl` and `predictions.jsonl` of one evaluation."""
    place.mkdir(parents=True, exist_ok=True)
    rows = {"instances": instance, "predictions": prediction(as_text(instance["instance_id"]), patch)}
    for name, row in rows.items():
        (place / f"{name}.jsonl").write_text(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")


def _launch(place: Path, run_id: str, seconds: float) -> Launch:
    argv = (sys.executable, "-m", "swebench.harness.run_evaluation", "--dataset_name", "instances.jsonl",
            "--predictions_path", "predictions.jsonl", "--max_workers", "1", "--timeout", str(round(seconds)),
            "--run_id", run_id, "--report_dir", ".")  # fmt: skip
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith("DOCKER_")}
    return Launch(argv, {**kept, "PYTHONUTF8": "1"}, place)


def _fault(ended: Finished) -> str:
    if not ended.exit_code:
        return ""
    last = next((line for line in reversed(ended.stderr.splitlines()) if line.strip()), "")
    return f"swebench ended with exit code {ended.exit_code}: {shorten(last.strip(), 300)}"
