"""Joining manifests with the data set: local files, a hub on loopback that breaks off, duplicate and missing ids."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from skillopt.core.errors import DataError
from skillopt.envs.registry import create_env
from skillopt.envs.searchqa.materialize import Sources, download, main, materialize

from .conftest import Config, split_dir, write

COMMIT = "c0ffee" * 6 + "c0ff"


def line(key: str) -> str:
    return json.dumps({"key": key, "question": f"Q {key}?", "context": "[DOC] é", "answers": [key], "labels": [1]})


@pytest.fixture
def manifest(tmp_path: Path) -> Path:
    return split_dir(tmp_path / "ids", [{"id": "k3"}, {"id": "k1"}], [{"id": "k2"}], [{"id": "k0"}, {"id": "k5"}])


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    first = write(tmp_path / "train.jsonl", "\n".join(line(f"k{n}") for n in range(4)) + "\n")
    second = write(tmp_path / "validation.jsonl", "\n".join(line(f"k{n}") for n in range(4, 9)) + "\n")
    return first, second


def test_join_over_all_source_splits_in_manifest_order(
    manifest: Path, files: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    assert materialize(manifest, out, Sources(files, {"revision": "r"})) == {"train": 2, "val": 1, "test": 2}
    assert json.loads((out / "train/items.json").read_text()) == [
        {"id": k, "question": f"Q {k}?", "context": "[DOC] é", "answers": [k]} for k in ("k3", "k1")
    ]
    assert json.loads((out / "split_manifest.json").read_text())["revision"] == "r"
    env = create_env("searchqa", Config(split_mode="split_dir", split_dir=str(out)), {})
    assert [i.id for i in env.load().test] == ["k0", "k5"]


def test_missing_and_duplicate_ids_name_the_first_five_and_write_nothing(
    manifest: Path, files: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    write(manifest / "test" / "items.json", [{"id": f"x{n}"} for n in range(7)])
    with pytest.raises(DataError, match=r"7 ids .*x0, x1, x2, x3, x4, …"):
        materialize(manifest, out, Sources(files, {}))
    write(manifest / "test" / "items.json", [{"id": "k1"}, {"id": "k9"}])
    with pytest.raises(DataError, match=r"1 ids stand twice in the manifest.*k1"):
        materialize(manifest, out, Sources(files, {}))
    write(manifest / "test" / "items.json", [{"id": "k0"}])
    with pytest.raises(DataError, match="stand twice in the source"):
        materialize(manifest, out, Sources((*files, files[0]), {}))
    assert not out.exists()


class Hub(BaseHTTPRequestHandler):
    """Two files; the first request for each file breaks off half-way."""

    contents: dict[str, bytes]
    asked: list[tuple[str, str | None]]

    def do_GET(self) -> None:
        ranged = self.headers.get("Range")
        self.asked.append((self.path, ranged))
        if self.path == "/api/datasets/a/b/revision/main":
            body = json.dumps({"sha": COMMIT, "siblings": [{"rfilename": n} for n in [*self.contents, "README.md"]]})
            self._send(200, body.encode())
            return
        prefix = f"/datasets/a/b/resolve/{COMMIT}/"
        data = self.contents.get(self.path.removeprefix(prefix)) if self.path.startswith(prefix) else None
        if data is None:
            self._send(404, b"Revision Not Found")
        elif ranged:
            self._send(206, data[int(ranged.removeprefix("bytes=").rstrip("-")) :])
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2])
            self.close_connection = True

    def _send(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def hub(files: tuple[Path, Path]) -> Iterator[str]:
    Hub.contents = {f"data/{path.name}": path.read_bytes() for path in files}
    Hub.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_download_continues_and_records_the_commit(hub: str, manifest: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = ["--manifest-dir", str(manifest), "--output-dir", str(out), "--dataset", "a/b", "--endpoint", hub]
    with pytest.raises(SystemExit) as caught:
        main(command)
    assert caught.value.code == 0
    assert json.loads((out / "split_manifest.json").read_text())["revision"] == COMMIT
    assert any(ranged for _, ranged in Hub.asked)
    before = (out / "train/items.json").read_bytes()
    Hub.asked.clear()
    with pytest.raises(SystemExit):
        main(command)
    assert [path for path, _ in Hub.asked] == ["/api/datasets/a/b/revision/main"]
    assert (out / "train/items.json").read_bytes() == before


def test_an_unknown_revision_is_the_hubs_own_words(hub: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="404 Revision Not Found"):
        download("a/b", "nope", tmp_path, endpoint=hub, report=lambda _: None)


def test_the_command_says_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--manifest-dir", str(tmp_path / "none")])
    assert caught.value.code == 2
    assert "id manifest is missing" in capsys.readouterr().err


def test_parquet(manifest: Path, files: tuple[Path, Path], tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [json.loads(text) for path in files for text in path.read_text(encoding="utf-8").splitlines()]
    parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "all.parquet")
    assert materialize(manifest, tmp_path / "out", Sources((tmp_path / "all.parquet",), {}))["test"] == 2
