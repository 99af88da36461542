"""Fetching through the hub's own library, from a server on loopback: ranges, checksums, refusals."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from skillopt.core.errors import DataError
from skillopt.envs.datasets.hub import Fetched, fetch

from .hub_server import COMMIT, Hub, serving, sha

pytest.importorskip("huggingface_hub")


def fetched(hub: Hub, place: Path, *patterns: str, revision: str = "main") -> Fetched:
    said: list[str] = []
    return fetch(hub.repo, revision, patterns or ("data/*",), endpoint=hub.url, cache=place, report=said.append)


def test_a_broken_download_is_continued_and_a_complete_one_not_asked_for_again(tmp_path: Path) -> None:
    content = bytes(range(256)) * 90_000  # larger than what the library writes at once
    with serving(Hub("a/b", {"data/x.bin": content, "data/y.bin": b"y"}, breaks={"data/x.bin": 1})) as hub:
        first = fetched(hub, tmp_path)
        ranges = [ranged for how, path, ranged in hub.asked if how == "GET" and path.endswith("x.bin")]
        assert ranges[0] == "" and len(ranges) == 2
        assert ranges[1].startswith("bytes=") and ranges[1] != "bytes=0-"
        assert first.files["data/x.bin"].read_bytes() == content
        assert first.origin == {
            "dataset": "a/b",
            "revision": COMMIT,
            "files": {"data/x.bin": sha(content), "data/y.bin": sha(b"y")},
        }
        hub.asked.clear()
        assert fetched(hub, tmp_path) == first
        assert [path for _, path, _ in hub.asked] == ["/api/datasets/a/b/revision/main"]


def test_wrong_bytes_are_refused_and_not_kept(tmp_path: Path) -> None:
    with serving(Hub("a/b", {"data/x": b"right"}, corrupt={"data/x"})) as hub:
        with pytest.raises(DataError, match="a/b/data/x: the downloaded bytes do not have the checksum"):
            fetched(hub, tmp_path)
        hub.corrupt.clear()
        assert fetched(hub, tmp_path).files["data/x"].read_bytes() == b"right"


def test_refusals_are_one_line_that_says_what_to_do(tmp_path: Path) -> None:
    with serving(Hub("a/b", {"data/x": b"x"}, gated=True)) as hub:
        with pytest.raises(DataError, match=r"accepted its terms\. accept them at http.*/datasets/a/b, run `hf auth"):
            fetched(hub, tmp_path)
        with pytest.raises(DataError, match=r"lists no file other/\*"):
            fetched(hub, tmp_path, "other/*")
        hub.repo = "c/d"
        with pytest.raises(DataError, match=r"a/b is not there at http"):
            fetch("a/b", "main", ("*",), endpoint=hub.url, cache=tmp_path, report=str)


def test_nobody_there_is_one_line(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(DataError, match=r"check the network and run the same command again") as caught:
        fetch("a/b", "main", ("*",), endpoint=url, cache=tmp_path, report=str)
    assert "\n" not in str(caught.value) and url in str(caught.value)
