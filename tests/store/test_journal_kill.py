"""I3 at the journal: whatever `once` returned before a kill -9 is there after it."""

from __future__ import annotations

import random
import subprocess
import sys
import time

import pytest

from skillopt.store.journal import Journal

WRITER = """
import asyncio, os, sys
from pathlib import Path
from skillopt.store.journal import Journal, Recorded

async def main(path, start):
    journal = Journal.open(path)
    async def worker(n):
        for i in range(100_000):
            key = f"{start}-{n}-{i}"
            async def thunk():
                await asyncio.sleep(0)
                return Recorded(value={"key": key, "text": "word " * (i % 700)}, kind="chat")
            await journal.once(key, thunk)
            os.write(1, (key + "\\n").encode())
    await asyncio.gather(*(worker(n) for n in range(8)))

asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a POSIX signal")
def test_i3_every_returned_entry_survives_kill_9(tmp_path):
    path, out = tmp_path / "journal.sqlite", tmp_path / "out"
    chance, expected = random.Random(7), set()
    for attempt in range(12):
        with out.open("wb") as sink:
            child = subprocess.Popen([sys.executable, "-c", WRITER, str(path), str(attempt)], stdout=sink)
            deadline = time.monotonic() + 20
            while out.stat().st_size == 0 and time.monotonic() < deadline:
                time.sleep(0.005)
            time.sleep(chance.uniform(0.0, 0.25))
            child.kill()
            child.wait()
        reported = out.read_text().split("\n")[:-1]
        assert reported, "the writer never came up"
        expected.update(reported)
        journal = Journal.open(path)
        missing = [key for key in expected if (entry := journal.get(key)) is None or entry.value["key"] != key]
        journal.close()
        assert missing == []
