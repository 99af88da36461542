# Every target does its own set-up, once (a stamp file in the virtual environment remembers it).
#   make demo    train a skill with the embedded model: no key, no GPU
#   make test    the tests, every claim of them, and lint
#   make types   pyright --strict on the package: two minutes of one core, so it is no part of `make test`; CI runs both
#   make test-thorough   the same claims with every mechanism, width and case: the rest of what CI runs
#   make test-slow   the long campaigns of which `make test` runs a sample: many kills, many seeds, many examples
#   make test-ray    the proofs of `executor.kind: ray` on a cluster of two nodes
#   make screenshots   each page of the dashboard, light, dark, narrow and empty, into outputs/screenshots (needs Chromium)
#   make e2e     install the real agent CLIs into .e2e, train a run through each, then one rollout with the local model
# Variables: VENV (where the environment lives), PYTHON (which interpreter makes it), PYTEST_ARGS.

VENV ?= .venv
PYTHON ?= python3
# Work stealing: the files take very different times. Three workers keep two cores busy: many tests wait for a child.
PYTEST_ARGS ?= -n 3 --dist worksteal
BIN := $(VENV)/bin
# Compiled modules are kept: the tests start hundreds of processes, each of which would compile the package anew.
export PYTHONDONTWRITEBYTECODE :=
DEMO_STAMP := $(VENV)/.installed-demo
DEV_STAMP := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.PHONY: help demo test test-thorough test-slow test-ray e2e lint types imports unit model docs bench screenshots clean

help:
	@sed -n 's/^#   //p' Makefile
	@echo "make lint | types | imports | unit | docs | bench | clean"

$(DEMO_STAMP): pyproject.toml scripts/setup_env.sh
	@sh scripts/setup_env.sh "$(VENV)" "$(PYTHON)" ".[demo]"
	@touch $@

$(DEV_STAMP): pyproject.toml scripts/setup_env.sh
	@sh scripts/setup_env.sh "$(VENV)" "$(PYTHON)" ".[demo,dev]"
	@touch $@ $(DEMO_STAMP)

demo: $(DEMO_STAMP)
	$(BIN)/skillopt model pull
	$(BIN)/python scripts/make_demo_data.py
	$(BIN)/skillopt train --config configs/demo/default.yaml

test: lint imports model unit

lint: $(DEV_STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

imports: $(DEV_STAMP)
	$(BIN)/lint-imports

types: $(DEV_STAMP)
	$(BIN)/pyright --pythonpath $(BIN)/python

# Tests marked local_model need the model's file; where no source can be reached they are skipped and say why.
model: $(DEV_STAMP)
	@$(BIN)/skillopt model pull || echo "note: the embedded model could not be fetched; tests marked local_model are skipped"

unit: $(DEV_STAMP)
	$(BIN)/pytest $(PYTEST_ARGS)

test-thorough: $(DEV_STAMP)
	$(BIN)/pytest $(PYTEST_ARGS) -m "thorough and not slow_campaign"

# Results of whole campaigns go to benchmarks/LOG.md. Property tests draw forty times as many examples, other ones each time.
test-slow: $(DEV_STAMP)
	$(BIN)/pytest $(PYTEST_ARGS) -m slow_campaign
	SKILLOPT_TESTS=slow $(BIN)/pytest $(PYTEST_ARGS) -m "not slow_campaign" $$(grep -rlE "from (hypothesis|tests.examples)" tests --include="test_*.py")

# A cluster of two nodes, in a network namespace where that works (scripts/alone.sh says so), else on loopback.
test-ray: $(DEV_STAMP)
	@$(BIN)/python -c "import ray" 2>/dev/null || $(BIN)/pip install -q -e ".[ray]"
	sh scripts/alone.sh $(BIN)/pytest -p no:xdist -m ray tests/executors

# The programs are pinned in scripts/install_agents.sh and kept in .e2e (about 850 MB); nothing is installed elsewhere.
e2e: $(DEV_STAMP)
	@sh scripts/install_agents.sh .e2e
	SKILLOPT_E2E_REQUIRED=1 $(BIN)/pytest -q -p no:xdist tests/agents/test_real_clis.py tests/agents/test_real_packages.py tests/agents/test_real_proxied.py tests/model/providers/test_cli_chat.py tests/sleep/test_real_clis.py
	$(BIN)/python benchmarks/agents_parallel.py
	@$(BIN)/skillopt model pull || echo "note: the embedded model could not be fetched: the next step says so"
	$(BIN)/python benchmarks/agents_local.py

screenshots: $(DEV_STAMP)
	$(BIN)/python scripts/screenshots.py

docs: $(DEV_STAMP)
	$(BIN)/python scripts/make_docs.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

bench: $(DEV_STAMP)
	@for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python "$$script" || exit 1; done

clean:
	rm -rf $(VENV) .e2e build dist .ruff_cache .pytest_cache .hypothesis .import_linter_cache
