# The commands of this repository; `make` lists them. PYTHON is what the environment is made
# with: `make setup PYTHON=python3.12`.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

# What `make bench-peers` reads: a harness that runs peers, and measured runs. Skipped where absent.
PEERS ?= ../shared/peers
CASES ?= ../shared/cases

# What `make mutation` changes: groups of bench/mutation/groups.py (empty: all), so many mutants each.
GROUPS ?=
SAMPLE ?= 80

# What tools/engine/build.py answers when there is neither a Pulumi CLI nor Go to build one.
NO_ENGINE := 3

# Tests of a file share what they worked out: they run in one process.
PYTEST := $(BIN)/python -m pytest -n auto --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help setup preview test test-fast lint bench bench-peers mutation docs clean

help: ## List these commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(INSTALLED) ## Make .venv and, where no Pulumi CLI is installed, an engine in .engine
	@$(BIN)/python -m tools.engine.build || [ $$? -eq $(NO_ENGINE) ]

preview: setup ## Preview a good and a bad example on the real engine, without a cloud account
	@$(BIN)/python -m tools.engine.preview

test: setup ## Run every test, those on the real engine included
	$(PYTEST) -m "not engine" --hypothesis-profile thorough
	$(BIN)/python -m pytest -m engine

test-fast: $(INSTALLED) ## Run the tests without the engine and processes, with fewer examples
	$(PYTEST) -m "not engine and not contract"

lint: $(INSTALLED) ## Check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: setup ## Measure, against peers and limits
	$(BIN)/python -m bench

bench-peers: $(INSTALLED) ## Hold estimates and those of peers to measured runs (PEERS=..., CASES=...)
	$(BIN)/python -m bench.estimators --harness $(PEERS) --cases $(CASES)

mutation: $(INSTALLED) ## Change the memory model on purpose and count what tests notice (GROUPS=..., SAMPLE=...)
	@$(BIN)/python -c 'import cosmic_ray' 2>/dev/null \
	    || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[mutation]'
	$(BIN)/python -m bench.mutation $(GROUPS) --sample $(SAMPLE)

docs: $(INSTALLED) ## Write the generated pages of docs/
	$(BIN)/python -m tools.build_docs

clean: ## Remove environments, the built engine and caches
	rm -rf .venv .engine .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' \
	    || { echo "Python 3.10 or newer is needed, tell where: make $(MAKECMDGOALS) PYTHON=..."; exit 1; }
	$(PYTHON) -m venv .venv
	PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
