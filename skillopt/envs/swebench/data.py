"""The SWEBench data sets, and a sample of small repositories of our own.

Real instances go to `data/swebench_<name>/`: all of them in `instances.jsonl`, which a ratio split reads, and the split
2:1:7 with seed 42, stratified by repository, in `{train,val,test}/items.json`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from skillopt.core.errors import ConfigError, DataError, SkillOptError
from skillopt.core.item import SPLITS
from skillopt.core.json_types import JsonObject, as_text
from skillopt.envs.data.loading import Row, read_rows
from skillopt.envs.data.splits import FOLDERS, parse_ratio
from skillopt.envs.datasets.checking import check_files, split_counts, split_ids
from skillopt.envs.datasets.dataset import Request, Sizes, Written, sample_directory
from skillopt.envs.datasets.hub import fetch, local_files
from skillopt.envs.datasets.joined import OWN_LICENCE, SplitItems
from skillopt.envs.datasets.manifest import refuse_twice
from skillopt.envs.datasets.placing import MANIFEST, refuse_foreign, whole
from skillopt.envs.datasets.records import records
from skillopt.envs.swebench import sample
from skillopt.envs.swebench.dataloader import INSTANCES, STRATEGY, Runtime, stratified, to_item
from skillopt.store.atomic import write_json, write_text

REPOS = {
    "lite": "princeton-nlp/SWE-Bench_Lite",
    "verified": "princeton-nlp/SWE-Bench_Verified",
    "full": "princeton-nlp/SWE-Bench",
}


class SWEBenchData:
    """Implements `Dataset`; the names of its splits are those of its three sets."""

    name = "swebench"
    title = "SWE-bench"
    licence = "MIT; issues and patches under the licences of their projects"
    home = "https://huggingface.co/datasets/princeton-nlp/SWE-bench_Lite"
    directory = "data/swebench_lite"
    splits: Mapping[str, Sizes] = {
        "lite": Sizes(60, 33, 207),
        "verified": Sizes(100, 49, 351),
        "full": Sizes(458, 230, 1606),
    }

    def get(self, request: Request) -> Written:
        """Fetch, cut, check, write."""
        which = request.split or "lite"
        if which not in REPOS:
            raise ConfigError(f"no set of SWE-bench is called {which!r}", hint=f"known: {', '.join(REPOS)}")
        output = request.output or Path(f"data/swebench_{which}")
        refuse_foreign(output)
        request.report(f"{self.title}: {self.licence} ({self.home})")
        fetched = (
            local_files(request.sources, ("*.jsonl", "*.json", "*.parquet"))
            if request.sources
            else fetch(REPOS[which], request.revision or "main", ("data/test-*.parquet",), endpoint=request.endpoint,
                       cache=request.cache, report=request.report)
        )  # fmt: skip
        rows = [row for path in fetched.files.values() for row in records(path)]
        refuse_twice([as_text(row.data.get("instance_id")) for row in rows], f"the set {which}")
        return self._cut(output, rows, request, {**fetched.origin, "split": which})

    def _cut(self, output: Path, rows: Sequence[Row], request: Request, origin: JsonObject) -> Written:
        for row in rows:
            to_item(row, None)
        cut = stratified(rows, parse_ratio(request.ratio), request.seed)
        items: SplitItems = {split: [dict(row.data) for row in cut[split]] for split in SPLITS}
        how: JsonObject = {"strategy": STRATEGY, "ratio": request.ratio, "seed": request.seed, "licence": self.licence}
        with whole(output) as place:
            lines = [json.dumps(dict(row.data), ensure_ascii=False, default=str) + "\n" for row in rows]
            write_text(place / INSTANCES, "".join(lines))
            return self._written(output, place, items, {**origin, **how}, None)

    def sample(self, request: Request) -> Written:
        """Write the sample."""
        output = request.output or sample_directory(self)
        rows = [sample.instance(number) for number in range(sample.INSTANCES)]
        items = {"train": rows[:10], "selection": rows[10:16], "test": rows[16:]}
        origin: JsonObject = {"dataset": "sample", "split": "sample", "licence": OWN_LICENCE}
        with whole(output) as place:
            return self._written(output, place, items, origin, "sandbox")

    def solutions(self) -> Mapping[str, str]:
        """Issue of a sample instance → a right reply, for the scripted model."""
        return dict(sample.solution(number) for number in range(sample.INSTANCES))

    def check(self, place: Path) -> Sequence[str]:
        """See `Dataset`. Whether a container engine answers is no question of the data."""
        if problems := check_files(place):
            return problems
        try:
            rows = [row for split in SPLITS for row in read_rows(place / FOLDERS[split] / "items.json")]
            for row in rows:
                to_item(row, "sandbox" if "files" in row.data else "docker")
        except SkillOptError as error:
            return [error.message]
        return []

    def _written(
        self, output: Path, place: Path, items: SplitItems, origin: JsonObject, runtime: Runtime | None
    ) -> Written:
        for split in SPLITS:
            if not items[split]:
                raise DataError(f"{output}: the {split} split is empty", hint="there are too few instances")
            write_json(place / FOLDERS[split] / "items.json", list(items[split]))
        for number, row in enumerate(row for split in SPLITS for row in items[split]):
            to_item(Row(row, f"{output}, instance {number + 1}"), runtime)
        counts, sums = split_counts(place)
        repos = Counter(as_text(row.get("repo")) for split in SPLITS for row in items[split])
        manifest: JsonObject = {**origin, "counts": counts._asdict(), "repos": dict(sorted(repos.items())),
                                "sha256": sums, "ids": split_ids(place)}  # fmt: skip
        write_json(place / MANIFEST, manifest)
        return Written(output, counts, manifest)


DATASET = SWEBenchData()
