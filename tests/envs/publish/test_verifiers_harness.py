"""Environments of several turns, with tools or a judge, as tasksets that verifiers plays by the loop of a run."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from skillopt.api import datasets
from skillopt.envs.datasets.dataset import Request

pytest.importorskip("verifiers", reason="the extra `verifiers` is not installed")

Reply = Callable[[dict[str, Any]], dict[str, Any]]
ROOT = Path(__file__).parents[3]


@contextmanager
def served(reply: Reply) -> Iterator[str]:
    """A chat endpoint whose message is computed from the request."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            message = {"role": "assistant", "content": None, **reply(body)}
            finish = "tool_calls" if message.get("tool_calls") else "stop"
            choice = {"index": 0, "message": message, "finish_reason": finish}
            usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
            sent = json.dumps({"id": "c1", "object": "chat.completion", "created": 1, "model": body["model"],
                               "choices": [choice], "usage": usage}).encode()  # fmt: skip
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: object) -> None:
            """Silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()


MODULE = """
from skillopt.envs.publish.verifiers_harness import SkillOptHarness
from skillopt.envs.publish.verifiers_taskset import SkillOptTaskset

__all__ = ["SkillOptHarness", "SkillOptTaskset"]
"""


@pytest.fixture(autouse=True)
def users_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the documentation says: a module of the user's, found by its name."""
    monkeypatch.setenv("NO_KEY", "sk-none")
    (tmp_path / "skillopt_tasks.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)


async def traces(task: Any, url: str, *, judge: str = "") -> Any:
    import verifiers.v1 as vf
    from verifiers.v1.configs.env import default_agent_harness
    from verifiers.v1.runtimes import SubprocessConfig

    assert default_agent_harness("skillopt_tasks").id == "skillopt_tasks"
    asked = {"judge": {"base_url": judge, "api_key_var": "NO_KEY", "model": "grader"}} if judge else {}
    client = vf.EvalClientConfig(base_url=url, api_key_var="NO_KEY")
    harness = {"id": "skillopt_tasks", **asked}
    config = vf.AgentConfig(model="scripted", client=client, harness=harness, runtime=SubprocessConfig())
    return await vf.Agent(config).run(task)


async def test_tools_are_called_and_the_score_is_the_environments(tmp_path: Path) -> None:
    from skillopt.envs.publish.verifiers_taskset import SkillOptTaskset, SkillOptTasksetConfig

    where = datasets.get("officeqa", Request(output=tmp_path / "data"), sample=True).directory
    config = SkillOptTasksetConfig(config=str(ROOT / "configs/officeqa/sample.yaml"), split="train",
                                   overrides=(f"env.split_dir={where}", f"env.data_dirs=[{where}]"))  # fmt: skip
    task = next(iter(SkillOptTaskset(config)))
    gold = task._item.data["ground_truth"]
    asked: list[list[str]] = []

    def reply(body: dict[str, Any]) -> dict[str, Any]:
        asked.append([message["role"] for message in body["messages"]])
        if len(asked) == 1:
            call = {"id": "t1", "type": "function", "function": {"name": "glob", "arguments": '{"pattern": "*"}'}}
            return {"tool_calls": [call]}
        return {"content": f"<answer>{gold}</answer>"}

    with served(reply) as url:
        trace = await traces(task, url)
    assert trace.errors == [] and asked[-1][-2:] == ["assistant", "tool"]
    assert trace.rewards["hard"].value == 1.0 and trace.metrics["soft"] == 1.0


async def test_a_judge_grades_and_its_nonsense_is_an_error_never_0(tmp_path: Path) -> None:
    from skillopt.envs.publish.verifiers_taskset import SkillOptTaskset, SkillOptTasksetConfig

    rows = [{"id": f"s{n}", "question": f"Where is lake {n}?", "answer": f"Land {n}", "topic": "lakes"}
            for n in range(10)]  # fmt: skip
    (tmp_path / "seal.json").write_text(json.dumps(rows))
    (tmp_path / "c.yaml").write_text(f"env: {{name: sealqa, split_mode: ratio, data_path: {tmp_path / 'seal.json'}, "
                                     "judge_attempts: 1, max_tool_turns: 0}\n")  # fmt: skip
    task = next(iter(SkillOptTaskset(SkillOptTasksetConfig(config=str(tmp_path / "c.yaml")))))
    word = {"grader": "A"}

    def reply(body: dict[str, Any]) -> dict[str, Any]:
        return {"content": word.get(body["model"], "<answer>Land</answer>")}

    with served(reply) as url:
        assert (await traces(task, url, judge=url)).rewards["hard"].value == 1.0
        word["grader"] = "B"
        assert (await traces(task, url, judge=url)).rewards["hard"].value == 0.0
        word["grader"] = "what a fine answer"
        lost = await traces(task, url, judge=url)
        unjudged = await traces(task, url)
    for trace, why in ((lost, "could not be scored"), (unjudged, "asks a judge")):
        assert not trace.ok and why in str(trace.errors), trace.errors
        assert trace.rewards.get("hard") is None
