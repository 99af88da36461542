"""Train the packaged skills with the embedded model, and write them to `ckpt/<name>/`.

`python scripts/train_packaged.py [NAME ...]`, from the root of a checkout; alone on the machine, some minutes each. It
starts each run again where it was left. Needs `skillopt model pull` once. `--backend scripted` shows the way in seconds
and packages nothing.
"""

import argparse
import sys
from pathlib import Path

from skillopt.api import datasets
from skillopt.api.keeping.packaged import package
from skillopt.cli.main import invoke
from skillopt.envs.datasets.dataset import Request

SMALL = ["model.local_context=4096", "env.workers=1", "gradient.analyst_workers=1", "train.num_epochs=1",
         "optimizer.use_slow_update=false", "optimizer.use_meta_skill=false", "optimizer.max_completion_tokens=300",
         "optimizer.prompt_token_budget=3000", "optimizer.analyst_profile=compact"]  # fmt: skip
CONFIGS = {
    "demo": ("configs/demo/default.yaml", []),
    "searchqa": ("configs/searchqa/sample.yaml", SMALL),
    "livemathematicianbench": ("configs/livemathematicianbench/sample.yaml", SMALL),
    "spreadsheetbench": ("configs/spreadsheetbench/sample.yaml", [*SMALL, "env.mode=single"]),
}


def main() -> int:
    """Train and package each; the exit code of the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CONFIGS)}; all without one")
    parser.add_argument("--backend", default="local", choices=["local", "scripted"])
    parser.add_argument("--out", type=Path, default=Path("outputs/packaged"))
    asked = parser.parse_args()
    if unknown := set(asked.names) - set(CONFIGS):
        parser.error(f"no packaged skill is called {', '.join(sorted(unknown))}; known: {', '.join(CONFIGS)}")
    for name in asked.names or list(CONFIGS):
        config, changes = CONFIGS[name]
        if name != "demo":
            datasets.get(name, Request(), sample=True)
        elif not Path("data/demo").is_dir():
            sys.exit("data/demo is missing; run: python scripts/make_demo_data.py")
        run = asked.out / name
        told = [f"model.backend={asked.backend}", f"env.out_root={run}", *changes]
        if code := invoke(["train", "--config", config, "--yes", *told]):
            return code
        if asked.backend == "local":
            done = package(run, name)
            print(f"{done.skill}: {done.provenance.sentence}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
