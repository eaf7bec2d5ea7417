# One command from a fresh checkout: `make demo` or `make test`. Needs Python >= 3.10 with pip.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.up-to-date
EXTRAS := dev,frameworks,html,remote,tensorboard

# One thread, and heap thresholds that do not move: without them identical code differs by tens of
# per cent from process to process. 32 MiB is the largest threshold for mmap that glibc accepts;
# memory is handed back to the kernel only when 1 GiB of it lies free.
STEADY := OMP_NUM_THREADS=1 MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=1073741824

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-all lint types format matrix confirm bench bench-noise bench-overhead two-faults first-use fuzz readme docs clean

help:  ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP)  ## Make the virtual environment .venv (reused while it is up to date)

# Debian's Python may come without ensurepip: then the pip that is there fills the environment.
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || $(PYTHON) -m venv --clear --without-pip $(VENV)
	$(BIN)/python -m pip --version || $(PYTHON) -m pip --python $(BIN)/python install pip
	$(BIN)/python -m pip install -c constraints.txt torch
	$(BIN)/python -m pip install -c constraints.txt -e ".[$(EXTRAS)]"
	$(BIN)/python -m compileall -q ckpt_doctor
	touch $@

# The demo's script has a fault on purpose, so exit code 1 (findings) is its success.
demo: $(STAMP)  ## Probe a training script with a real fault, and see the verdict
	@$(BIN)/ckpt-doctor demo; code=$$?; test $$code -eq 1 || exit $$code

test: $(STAMP)  ## Run the tests, without the long ones
	$(STEADY) $(BIN)/python -m pytest -m "not long"

test-all: $(STAMP)  ## Run all tests
	$(STEADY) $(BIN)/python -m pytest

lint: $(STAMP)  ## Check style and imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)  ## Check types
	$(BIN)/mypy

format: $(STAMP)  ## Put the code into its standard form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

matrix: $(STAMP)  ## Probe every script of fixtures/scripts and print the confusion matrix (long)
	$(STEADY) $(BIN)/python -m tests.benchmarks.matrix --write

confirm: $(STAMP)  ## Take each cause away that can be taken away, and see what comes back (long)
	$(STEADY) $(BIN)/python -m tests.benchmarks.confirm --write

bench: $(STAMP)  ## Measure how fast inspect is, and what the agent costs (long)
	$(STEADY) $(BIN)/python -m tests.benchmarks

bench-noise: $(STAMP)  ## Measure false alarms on identical code, and which slowdowns are found (long)
	$(STEADY) $(BIN)/python -m tests.benchmarks.noise --write

two-faults: $(STAMP)  ## Probe scripts with two faults at once, and hold their shares against each alone (long)
	$(STEADY) $(BIN)/python -m tests.benchmarks.two_faults --write

bench-overhead: $(STAMP)  ## Measure what the agent costs per step (long)
	$(STEADY) $(BIN)/python -m tests.benchmarks.overhead --write

first-use: $(STAMP)  ## Time a newcomer's path: clone, demo, explain, HTML (long)
	$(BIN)/python -m tests.benchmarks.first_use --write

fuzz: $(STAMP)  ## Damage real checkpoints in 10 000 ways and inspect each (long)
	$(BIN)/python -m tests.readers.fuzz 10000

readme: $(STAMP)  ## Put the demo's real output into README.md
	$(BIN)/python -m tests.structure.readme

docs: $(STAMP)  ## Write the pages of the rules from their docstrings
	$(BIN)/python -m tests.structure.pages

clean:  ## Remove the virtual environment and what tools left behind
	rm -rf $(VENV) .make .mypy_cache .pytest_cache .ruff_cache .hypothesis dist build
