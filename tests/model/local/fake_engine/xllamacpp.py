"""Stands in for the engine in tests: the same two names, a real HTTP server, and a log of what was asked."""

import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace


class CommonParams(SimpleNamespace):
    def __init__(self):
        super().__init__(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace())
        self.sampling = SimpleNamespace()


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        params, system = self.server.params, [m for m in body.get("messages", []) if m["role"] == "system"]
        authorised = self.headers.get("Authorization") == f"Bearer {params.api_keys[0]}" if params.api_keys else True
        with self.server.lock, open(os.environ["FAKE_ENGINE_LOG"], "a") as log:
            log.write(json.dumps({"path": self.path, "pid": os.getpid(), "body": body, "ok": authorised}) + "\n")
        if "save" in self.path:
            with open(params.slot_save_path + body["filename"], "w") as stream:
                stream.write("state")
        reply = {
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "42"}}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}},
            "model": next(iter(params.model_alias)),
            "n_written": 5,
            "system": system,
        }
        raw = json.dumps(reply).encode()
        self.send_response(200 if authorised else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_):
        pass


class Server:
    def __init__(self, params):
        print("loading", params.model.path, file=sys.stderr, flush=True)
        with open(params.model.path, "rb") as stream:
            behaviour = stream.read()
        if b"BROKEN" in behaviour:
            print("E the tensors are upside down", file=sys.stderr, flush=True)
            raise RuntimeError("Failed to init server")
        if b"SLOW" in behaviour:
            time.sleep(60)
        server = ThreadingHTTPServer(("127.0.0.1", params.port), _Handler)
        server.params, server.lock = params, threading.Lock()
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        self.listening_address = f"http://127.0.0.1:{server.server_address[1]}"
