# Every target makes .venv on its first run; a later run starts at once.
#   make test PYTHON=python3.12     another Python for .venv
#   make demo ARGS="--out /tmp/d"   options for the command

PYTHON ?= python3
ARGS ?=
BIN := .venv/bin
INSTALLED := .venv/.installed
BACKEND_PACKAGES := jax torch==2.13.0

export TF_CPP_MIN_LOG_LEVEL ?= 3
unexport PYTHONDONTWRITEBYTECODE # or each process of a test compiles the package anew

.PHONY: help demo test test-tenth test-all attacks backends docs lint format api wheel platforms clean
.DEFAULT_GOAL := help

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' Makefile

demo: $(INSTALLED) ## Train, translate, export and compare on a generated corpus, in minutes
	$(BIN)/keras-bahdanau demo $(ARGS)

test: lint ## Lint, format check and the fast tests
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --durations=10 $(ARGS)

test-tenth: $(INSTALLED) ## A tenth of the slow tests, drawn by the commit; a failed one runs once more
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --durations=10 -m slow \
		--tenth $$(git rev-parse HEAD) --minutes 10 --reruns 1 -rR $(ARGS)

test-all: lint ## The same with the slow tests
	$(BIN)/python -m pytest -q --durations=10 -m "" $(ARGS)

attacks: $(INSTALLED) ## All attacks of tests/fuzz at full size, and their table in benchmarks/attacks.md
	PYTHONPATH=.:tests:tests/support $(BIN)/python -m fuzz $(ARGS)

backends: .backends/jax/.installed .backends/torch/.installed ## Environments of JAX and torch, without TensorFlow, for tests/backends

.backends/%/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --disable-pip-version-check $(filter $*%,$(BACKEND_PACKAGES))
	$(@D)/bin/python -m pip install --disable-pip-version-check -c constraints.txt -e .
	@touch $@

docs: .venv/.docs ## Build the site into site/, which needs no server
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

.venv/.docs: $(INSTALLED)
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e ".[all,docs]"
	@touch $@

lint: $(INSTALLED) ## Lint and format check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: $(INSTALLED) ## Let ruff correct what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

api: $(INSTALLED) ## Rewrite tests/public_api.txt: public names, signatures and options
	PYTHONPATH=. $(BIN)/python tests/support/public_api.py

wheel: $(INSTALLED) ## Build the source distribution and the wheel into dist/
	rm -rf dist
	$(BIN)/python -m build

platforms: $(INSTALLED) ## Resolve the package for every platform and Python; installs nothing
	$(BIN)/python tests/platforms.py

clean: ## Remove .venv, .backends, caches, build output, the site and the demo's
	rm -rf .venv .backends .pytest_cache .ruff_cache build demo dist site *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(INSTALLED): pyproject.toml constraints.txt
	@echo "Installing into .venv: TensorFlow is large, this takes a minute or more."
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --disable-pip-version-check -c constraints.txt -e ".[test]"
	@touch $@
