"""What the run may ask of the pool process: units, sessions, cancellations, a look at the nodes.

Each request has a number that is used once. A unit that is cancelled is answered when nothing of it runs any more, or
when its worker was given up because it did not say so.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from typing import BinaryIO, cast

from skillopt.core.aio import undisturbed
from skillopt.core.errors import ConfigError, SkillOptError
from skillopt.core.json_types import JsonObject, JsonValue, as_array, as_object, as_text
from skillopt.executors.ray import cluster
from skillopt.executors.ray.crew import Crew
from skillopt.executors.ray.hiring import begun, hire
from skillopt.executors.ray.library import ray
from skillopt.executors.ray.settings import RaySettings
from skillopt.executors.ray.worker import Gone, Worker
from skillopt.work import frames
from skillopt.work.blobs import Blobs
from skillopt.work.handling import failure_of
from skillopt.work.unit import Needs

_CANCEL_S = 10.0
_SLACK_S = 60.0
"""How much longer than its deadline a unit may take to be ended by its worker."""
_NODE_S = 120.0


class Desk:
    """One connection to a cluster, serving one run."""

    def __init__(self, settings: RaySettings, blobs: Blobs, answers: BinaryIO) -> None:
        self._settings, self._blobs, self._answers = settings, blobs, answers
        self._crew = Crew(settings)
        self._running: dict[int, asyncio.Task[None]] = {}
        self._sessions: dict[int, tuple[Worker, Needs]] = {}
        self._stored: dict[str, object] = {}

    async def serve(self, requests: BinaryIO) -> None:
        """Until the run goes away or says `end`; what still runs then is cancelled."""
        stream = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(stream), requests)
        last: int | None = None
        while (message := await frames.receive(stream)) is not None:
            number = cast("int", message["n"])
            if message["do"] == "end":
                last = number
                break
            if message["do"] == "cancel":
                if number in self._running:
                    self._running[number].cancel()
                else:  # it has just ended by itself
                    self._send({"n": number, "cancelled": True})
                continue
            task = asyncio.get_running_loop().create_task(self._one(number, message))
            self._running[number] = task
            task.add_done_callback(lambda _, number=number: self._running.pop(number, None))
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        await self._crew.aclose()
        if last is not None:
            self._send({"n": last, "value": {}})

    async def _one(self, number: int, message: JsonObject) -> None:
        try:
            frame = frames.encode({"n": number, **await self._answer(number, message)})
        except asyncio.CancelledError:
            frame = frames.encode({"n": number, "cancelled": True})
        except Gone as error:
            frame = frames.encode({"n": number, "lost": str(error)})
        except (SkillOptError, ValueError, TypeError, KeyError) as error:
            frame = frames.encode({"n": number, "error": failure_of(error)})
        self._write(frame)

    async def _answer(self, number: int, message: JsonObject) -> JsonObject:
        verb = message["do"]
        if verb == "run":
            return await self._run(number, message)
        if verb == "open":
            return await self._open(number, message)
        if verb in ("step", "close"):
            return await self._in_session(number, message)
        if verb == "nodes":
            programs = [str(one) for one in as_array(message.get("programs"))]
            return {"value": {"nodes": await self._nodes(programs, as_text(message.get("reach")))}}
        if verb == "facts":
            return {"value": self._facts()}
        raise ConfigError(f"nothing is called {verb!r} here")

    async def _run(self, number: int, message: JsonObject) -> JsonObject:
        needs = _needs(message)
        worker = await self._crew.place(needs, _avoided(message))
        try:
            return await self._asked(worker, number, message)
        finally:
            self._crew.give_back(worker, needs)

    async def _open(self, number: int, message: JsonObject) -> JsonObject:
        needs = _needs(message)
        worker = await self._crew.place(needs, _avoided(message))
        try:
            answer = await self._asked(worker, number, message)
        except BaseException:
            self._crew.give_back(worker, needs)
            raise
        if "value" not in answer:
            self._crew.give_back(worker, needs)
        else:
            self._sessions[cast("int", message["session"])] = (worker, needs)
        return answer

    async def _in_session(self, number: int, message: JsonObject) -> JsonObject:
        session = cast("int", message["session"])
        held = self._sessions.get(session)
        if held is None:
            raise Gone("its session has ended")
        worker, needs = held
        ends = message["do"] == "close"
        try:
            answer = await self._asked(worker, number, message)
        except BaseException:
            ends = True  # whatever state it has is unknown
            raise
        finally:
            if ends and self._sessions.pop(session, None) is not None:
                self._crew.give_back(worker, needs)
        return answer

    async def _asked(self, worker: Worker, number: int, message: JsonObject) -> JsonObject:
        """One request to a worker; its answer names the node, so that a repeated unit goes to another one."""
        files = as_object(message.get("files"))
        stored = [self._stored_blob(str(digest)) for digest in files.values()]
        deadline = cast("float", message.get("open_s") or message["deadline_s"])
        try:
            asking = worker.call(worker.handle.do, number, message, *stored)
            answer = cast("JsonObject", await asyncio.wait_for(asking, deadline + _SLACK_S))
        except asyncio.TimeoutError:
            worker.give_up("did not end a unit whose deadline had passed")
            raise Gone("passed its deadline, and its worker did not end it") from None
        except asyncio.CancelledError:
            await undisturbed(self._end(worker, number))
            raise
        except Gone as error:
            return {"lost": str(error), "node": worker.node}
        return {**answer, "node": worker.node}

    async def _end(self, worker: Worker, number: int) -> None:
        try:
            await asyncio.wait_for(worker.call(worker.handle.cancel, number), _CANCEL_S)
        except asyncio.TimeoutError:
            worker.give_up(f"did not end a cancelled unit within {_CANCEL_S:g} s")
        except Gone:
            return

    def _stored_blob(self, digest: str) -> object:
        """The bytes where every node can fetch them once."""
        if digest not in self._stored:
            self._stored[digest] = ray().put(self._blobs.get(digest))
        return self._stored[digest]

    def _facts(self) -> JsonObject:
        workers = self._crew.workers
        return {
            "workers": [{**worker.said, "units": worker.units} for worker in workers],
            "cores": self._crew.cores,
            "refused": self._crew.refused_so_far,
        }

    async def _nodes(self, programs: list[str], reach: str) -> list[JsonValue]:
        found = await asyncio.gather(*(self._node(node, programs, reach) for node in cluster.nodes()))
        return list(found)

    async def _node(self, node: Mapping[str, object], programs: list[str], reach: str) -> JsonObject:
        """One unit on one node, and what the node says of itself."""
        has = as_object(node.get("Resources"))
        said: dict[str, JsonValue] = {
            "address": str(node.get("NodeManagerAddress")),
            "cores": has.get("CPU", 0),
            "memory_mb": round(cast("float", has.get("memory", 0)) / 2**20),
        }
        started = time.monotonic()
        worker = hire(self._settings, node=str(node.get("NodeID")))
        try:
            await asyncio.wait_for(begun(worker, self._settings), _NODE_S)
            unit: JsonObject = {
                "do": "run", "target": "skillopt.work.functions:call", "version": "", "files": {}, "shared": False,
                "payload": {"function": "operator:add", "search": [], "arguments": [20, 22]},
                "deadline_s": _NODE_S, "open_s": None,
            }  # fmt: skip
            answer = cast("JsonObject", await asyncio.wait_for(worker.call(worker.handle.do, 0, unit), _NODE_S))
            value = as_object(answer.get("value")).get("value")
            said["fault"] = "" if value == 42 else f"a unit answered {answer}"
            said["missing"] = cast("list[JsonValue]", await worker.call(worker.handle.missing, programs))
            if reach:
                host, _, port = reach.rpartition(":")
                said["reaches"] = cast("bool", await worker.call(worker.handle.reaches, host, int(port)))
        except asyncio.TimeoutError:
            said["fault"] = f"a unit gave no answer within {_NODE_S:g} s"
        except Gone as error:
            said["fault"] = str(error)
        except ConfigError as error:
            said["fault"], said["fix"] = error.message, error.hint
        finally:
            with contextlib.suppress(Gone, asyncio.TimeoutError):
                await asyncio.wait_for(worker.call(worker.handle.aclose), _CANCEL_S)
            worker.give_up("was looked at")
        return {**said, **worker.said, **({"fault": said["fault"]} if said.get("fault") else {}),
                "seconds": round(time.monotonic() - started, 2)}  # fmt: skip

    def _send(self, message: JsonObject) -> None:
        self._write(frames.encode(message))

    def _write(self, frame: bytes) -> None:
        self._answers.write(frame)
        self._answers.flush()


def _needs(message: JsonObject) -> Needs:
    given = as_object(message.get("needs"))
    return Needs(cast("float", given["cpu"]), cast("int", given["memory_mb"]))


def _avoided(message: JsonObject) -> frozenset[str]:
    return frozenset(str(node) for node in as_array(message.get("avoid")))
