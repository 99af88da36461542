"""The process that holds the embedded model: `python -m skillopt.model.local.child '<json settings>'`.

Started by `engine.Engine` only. It loads the model, serves OpenAI-compatible chat on the loopback interface and
writes one JSON line to standard output: `{"address", "key", "folder"}` when it is healthy, `{"error"}` when it cannot
be. The engine's own talk goes to standard error. It never outlives its parent: standard input is a pipe that the
parent holds, and its end (normal exit, crash, kill -9) ends this process; while the model loads, when Python threads
cannot run, Linux's parent-death signal does the same. SIGINT is left to the parent, which decides what Ctrl-C means.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
import secrets
import select
import shutil
import signal
import sys
import tempfile
from typing import Any

_PR_SET_PDEATHSIG = 1
_ERRORS_ONLY = 1
_ORPHAN_CHECK_SECONDS = 2.0


def main(argv: list[str]) -> None:
    """Load, announce, wait for the parent's end. Never returns."""
    settings: dict[str, Any] = json.loads(argv[1])
    parent = int(settings["parent"])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with_parent(parent, signal.SIGKILL)
    announcements = os.dup(1)
    os.dup2(2, 1)
    try:
        key = secrets.token_urlsafe(24) if settings["private"] else ""
        folder = tempfile.mkdtemp(prefix="skillopt-engine-") if settings["private"] else ""
        server = _serve(settings, key, folder)
    except ImportError as error:
        _announce(announcements, {"error": f"the engine cannot be imported: {error}", "missing": True})
        os._exit(3)
    except RuntimeError as error:
        _announce(announcements, {"error": " ".join(str(error).split())})
        os._exit(4)
    _announce(announcements, {"address": str(server.listening_address), "key": key, "folder": folder})
    # The death signal follows the parent's *thread*; from here on the pipe, which follows the process, is watched.
    _die_with_parent(parent, 0)
    _wait_for_end(parent)
    if folder:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _serve(settings: dict[str, Any], key: str, folder: str) -> Any:
    """Start the server; it is loaded and listening when this returns."""
    xllamacpp: Any = importlib.import_module("xllamacpp")  # an optional extra without type stubs
    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = settings["port"]
    params.api_keys = [key] if key else []
    # No page in the user's browser may talk to the model.
    params.cors_origins = "null"
    params.ui = params.endpoint_slots = False
    params.offline = True
    params.verbosity = _ERRORS_ONLY
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads = settings["threads"]
        cpu.poll = 0  # builds without OpenMP: sleep between graphs; with it, see `server._WAITING`
    params.n_parallel = settings["n_parallel"]
    params.n_ctx = settings["n_ctx"] * settings["n_parallel"]
    params.n_gpu_layers = settings["gpu_layers"]
    # Fitting to free memory would make the context, and with it the answers, depend on the machine's mood.
    params.fit_params = False
    if folder:
        params.slot_save_path = folder + os.sep
    # The engine's cache of other prompts would make answers depend on the past; see skillopt/model/local/prefix.py.
    params.cache_ram_mib = 0
    params.cache_idle_slots = False
    params.sampling.temp = 0.0
    params.sampling.seed = 0
    return xllamacpp.Server(params)


def _announce(stream: int, body: dict[str, Any]) -> None:
    os.write(stream, (json.dumps(body) + "\n").encode())
    os.close(stream)


def _die_with_parent(parent: int, with_signal: int) -> None:
    """Ask Linux to end this process with its parent; elsewhere the pipe alone does it, once the model is loaded."""
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(with_signal), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def _wait_for_end(parent: int) -> None:
    """Return when the parent has closed its end of standard input, or is gone.

    The second test matters when a forked relative of the parent still holds a copy of the pipe.
    """
    while True:
        if os.name == "posix":
            ready, _, _ = select.select([0], [], [], _ORPHAN_CHECK_SECONDS)
            if os.getppid() != parent:
                return
            if not ready:
                continue
        if not os.read(0, 1):
            return


if __name__ == "__main__":
    main(sys.argv)
