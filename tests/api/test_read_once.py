"""A data file is read once: what was planned for is what runs, also when the file changes in between."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt.api.runs.training import prepare
from skillopt.config import load_config
from skillopt.envs.registry import settings_schemas
from skillopt.testing.toy import toy_item


@pytest.mark.parametrize("limit", [0, 4])
async def test_a_file_is_read_once_and_its_split_is_written_whole(
    limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "tasks.jsonl"
    rows = [dict(toy_item(n)) for n in range(40)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    reads: list[Path] = []
    read = Path.read_bytes

    def counted(self: Path) -> bytes:
        reads.extend([self] if self == data else [])
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", counted)
    config = tmp_path / "config.yaml"
    config.write_text(
        f"env: {{name: jsonl, data_path: {data}, split_mode: ratio, out_root: {tmp_path / 'run'}, limit: {limit}, "
        "scorer: exact, prompt_template: '{{ question }}'}\n"
        "model: {optimizer_backend: scripted, target_backend: scripted}\n"
        "train: {num_epochs: 1, batch_size: 4}\n"
        "evaluation: {eval_test: false}\n"
    )
    training = prepare(load_config(config, environ={}, env_schemas=settings_schemas()))
    data.write_text("")  # nobody looks again
    await training.run(training.claim())
    assert len(reads) == 1
    written = sorted((tmp_path / "run" / "_generated_splits").rglob("items.json"))
    assert len(written) == 3
    assert sum(len(json.loads(read(path))) for path in written) == 40
