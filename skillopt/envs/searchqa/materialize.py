"""Fill the SearchQA id manifests with the data set: `data/searchqa_id_split` → `data/searchqa_split`.

Ids are joined with the field `key` over all source splits. Source: the data set on the Hugging Face hub at one
revision (recorded, and pinnable with `--revision`), or local files (`--source`). Everything is joined and checked in
memory before the first file is written: duplicate or missing ids end it with the first five named. Downloads continue
where they broke off; the manifest of the result is written last.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import httpx

from skillopt.core.errors import ConfigError, DataError, SkillOptError
from skillopt.core.item import SPLITS
from skillopt.core.shorten import shorten
from skillopt.envs.data.loading import Row, parse_json, read_rows
from skillopt.envs.data.splits import FOLDERS
from skillopt.envs.searchqa.dataloader import to_item
from skillopt.store.atomic import file_error, write_json

DATASET = "lucadiliello/searchqa"
HUB = "https://huggingface.co"
KEY = "key"
_FIELDS = (KEY, "question", "context", "answers")
_SUFFIXES = (".parquet", ".jsonl", ".ndjson")
_ATTEMPTS = 5
_SHOWN = 5

Report = Callable[[str], None]


@dataclass(frozen=True)
class Sources:
    """Files to read, and what the result's manifest says about them."""

    files: tuple[Path, ...]
    origin: Mapping[str, Any]


def materialize(manifest_dir: Path, output_dir: Path, sources: Sources) -> dict[str, int]:
    """Join and write. Returns the counts. Raises `DataError` for duplicate or missing ids, before anything is
    written."""
    wanted = read_manifest(manifest_dir)
    found = find_rows(sources.files, {item_id for ids in wanted.values() for item_id in ids})
    missing = [item_id for ids in wanted.values() for item_id in ids if item_id not in found]
    if missing:
        raise DataError(
            f"{len(missing)} ids of {manifest_dir} are not in the source: {_first(missing)}",
            hint="use the complete data set, all its splits, at the right --revision",
        )
    for split, ids in wanted.items():
        write_json(output_dir / FOLDERS[split] / "items.json", [found[item_id] for item_id in ids])
    counts = {FOLDERS[split]: len(ids) for split, ids in wanted.items()}
    write_json(output_dir / "split_manifest.json", {**sources.origin, "lookup": KEY, "counts": counts})
    return counts


def read_manifest(directory: Path) -> dict[str, list[str]]:
    """Ids of each split, in manifest order. Raises `DataError` for a missing file and for an id that stands twice."""
    wanted: dict[str, list[str]] = {}
    for split in SPLITS:
        path = directory / FOLDERS[split] / "items.json"
        if not path.is_file():
            raise DataError(
                f"{path}: the id manifest is missing", hint="point --manifest-dir at the published manifest"
            )
        rows = read_rows(path)
        ids = [row.identifier() for row in rows]
        if not ids or None in ids:
            raise DataError(f"{path}: every entry needs an id, and there must be at least one")
        wanted[split] = [item_id for item_id in ids if item_id is not None]
    _refuse_twice([item_id for ids in wanted.values() for item_id in ids], f"the manifest {directory}")
    return wanted


def find_rows(files: Iterable[Path], wanted: set[str]) -> dict[str, dict[str, Any]]:
    """Id → item for the wanted ids, over all files. Raises `DataError` for keys that stand twice, and for bad
    fields."""
    found: dict[str, dict[str, Any]] = {}
    twice: list[str] = []
    for path in files:
        for where, raw in _records(path):
            key = str(raw.get(KEY, ""))
            if key not in wanted:
                continue
            if key in found:
                twice.append(key)
                continue
            row = Row({"id": key, **{name: raw.get(name) for name in _FIELDS[1:]}}, where)
            found[key] = {"id": key, **to_item(row).data}
    if twice:
        raise DataError(f"{len(twice)} ids stand twice in the source: {_first(twice)}", hint="read each split once")
    return found


def _refuse_twice(ids: Sequence[str], where: str) -> None:
    if len(set(ids)) != len(ids):
        seen: set[str] = set()
        twice = [item_id for item_id in ids if item_id in seen or seen.add(item_id)]
        raise DataError(f"{len(twice)} ids stand twice in {where}: {_first(twice)}", hint="ids must be unique")


def _first(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_SHOWN]) + (", …" if len(ids) > _SHOWN else "")


# --- source files ----------------------------------------------------------------------------------------------------


def _records(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Rows of one source file with their place; JSONL and Parquet are streamed."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        yield from _parquet(path)
    elif suffix in (".jsonl", ".ndjson"):
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    value = parse_json(line)
                except ValueError as error:
                    raise DataError(f"{path}, line {number}: not valid JSON: {error}") from error
                if isinstance(value, dict):
                    yield f"{path}, line {number}", cast("dict[str, Any]", value)
    else:
        for row in read_rows(path):
            yield row.where, row.data


def _parquet(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    try:
        module: Any = import_module("pyarrow.parquet")
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"{path}: reading Parquet needs the package pyarrow", hint='run: pip install "skillopt[data]"'
        ) from error
    number = 0
    for batch in module.ParquetFile(path).iter_batches(columns=list(_FIELDS)):
        for raw in batch.to_pylist():
            number += 1
            yield f"{path}, row {number}", raw


# --- the hub ---------------------------------------------------------------------------------------------------------


def download(dataset: str, revision: str, directory: Path, *, endpoint: str, report: Report) -> Sources:
    """Fetch the data files of one revision into `directory/<commit>/`; complete files are kept and not asked for again.

    Raises `DataError` with the hub's own words when the data set or the revision does not exist.
    """
    with httpx.Client(
        base_url=endpoint.rstrip("/"), follow_redirects=True, timeout=60, transport=httpx.HTTPTransport(retries=3)
    ) as client:
        info = _get(client, f"/api/datasets/{dataset}/revision/{revision}").json()
        commit = str(info.get("sha") or "")
        names = sorted(str(entry["rfilename"]) for entry in info.get("siblings", []))
        names = [name for name in names if name.endswith(_SUFFIXES)]
        if not commit or not names:
            raise DataError(f"{dataset} at {revision}: the hub lists no {' or '.join(_SUFFIXES)} file")
        files: list[Path] = []
        for name in names:
            path = directory / commit / name.replace("/", "__")
            _fetch(client, f"/datasets/{dataset}/resolve/{commit}/{name}", path, report)
            files.append(path)
    return Sources(tuple(files), {"dataset": dataset, "revision": commit, "files": names})


def _get(client: httpx.Client, url: str) -> httpx.Response:
    try:
        response = client.get(url)
        response.raise_for_status()
    except httpx.HTTPStatusError as error:
        raise DataError(
            f"{error.request.url}: {error.response.status_code} {shorten(error.response.text, 200)}",
            hint="check --dataset and --revision, or give the files with --source",
        ) from error
    except httpx.HTTPError as error:
        raise DataError(f"{client.base_url}: {error}", hint="check the network, or give files with --source") from error
    return response


def _fetch(client: httpx.Client, url: str, path: Path, report: Report) -> None:
    """Download to `path` through `path.part`, continuing a part that is there. A commit's bytes never change."""
    if path.is_file():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    fault: httpx.HTTPError | None = None
    for _ in range(_ATTEMPTS):
        try:
            _continue(client, url, part)
        except httpx.HTTPStatusError as error:
            raise DataError(f"{url}: {error.response.status_code}", hint="run the same command again later") from error
        except httpx.HTTPError as error:
            fault = error
            continue
        except OSError as error:
            raise file_error(part, error) from error
        os.replace(part, path)
        report(f"{path.name}: {path.stat().st_size:,} bytes")
        return
    raise DataError(
        f"{url}: the download broke off {_ATTEMPTS} times: {fault}", hint="run the same command again; it continues"
    )


def _continue(client: httpx.Client, url: str, part: Path) -> None:
    have = part.stat().st_size if part.is_file() else 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    with client.stream("GET", url, headers={**headers, "Accept-Encoding": "identity"}) as response:
        if have and response.status_code == 416:  # nothing beyond what we have
            return
        response.raise_for_status()
        with part.open("ab" if response.status_code == 206 else "wb") as file:
            for chunk in response.iter_bytes():
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())


# --- command ---------------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """`python scripts/materialize_searchqa.py [--revision …] [--source FILE …]`; exits 2 with one line on an error."""
    parser = argparse.ArgumentParser(description="Write the SearchQA splits from the published id manifests.")
    parser.add_argument("--manifest-dir", type=Path, default=Path("data/searchqa_id_split"))
    parser.add_argument("--output-dir", type=Path, default=Path("data/searchqa_split"))
    parser.add_argument("--dataset", default=DATASET, help="data set on the hub")
    parser.add_argument("--revision", default="main", help="branch, tag or commit; the commit is recorded")
    parser.add_argument("--source", type=Path, nargs="+", default=[], help="local files in place of the hub")
    parser.add_argument("--endpoint", default=os.environ.get("HF_ENDPOINT", HUB), help="base URL of the hub")
    options = parser.parse_args(arguments)
    try:
        read_manifest(options.manifest_dir)
        if options.source:
            files: list[Path] = options.source
            absent = [str(path) for path in files if not path.is_file()]
            if absent:
                raise DataError(f"{absent[0]}: the source file does not exist", hint="check --source")
            sources = Sources(tuple(files), {"dataset": "local files", "files": [path.name for path in files]})
        else:
            cache = options.output_dir.with_name(options.output_dir.name + ".download")
            sources = download(options.dataset, options.revision, cache, endpoint=options.endpoint, report=_to_stderr)
        counts = materialize(options.manifest_dir, options.output_dir, sources)
    except SkillOptError as error:
        parser.exit(2, f"{error}\n")
    parser.exit(0, f"{options.output_dir}: {json.dumps(counts)}\n")


def _to_stderr(line: str) -> None:
    sys.stderr.write(line + "\n")
