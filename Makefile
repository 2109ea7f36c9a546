# Every target sets up what it needs, the virtual environment included. `make help` lists them.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST_ARGS ?=
CODE_LAYER_TESTS := $(addprefix tests/integration/test_,discovery_on_disk.py git_process.py hostile_repository.py history_increments.py index_lifecycle.py)

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Tenure needs Python 3.11 or newer: make PYTHON=python3.11 ...")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

.PHONY: install
install: $(STAMP) ## Make .venv with everything in it

.PHONY: demo
demo: $(STAMP) ## Index this clone and an sdist, ask three questions, write demo.json
	$(BIN)/python -m tenure.workspace.demo

.PHONY: test
test: $(STAMP) ## Run all tests, those with real servers last and alone (PYTEST_ARGS="-k name" narrows)
	$(BIN)/python -m pytest --numprocesses 2 --dist loadfile --ignore tests/e2e $(PYTEST_ARGS) || test $$? -eq 5
	$(BIN)/python -m pytest tests/e2e $(PYTEST_ARGS) || test $$? -eq 5

.PHONY: check
check: $(STAMP) ## Format, lint, types, architecture, dependencies
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/deptry .

.PHONY: coverage
coverage: $(STAMP) ## Branch coverage: core must be at 100 %, code at 95 %
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest tests/unit/core tests/unit/code $(CODE_LAYER_TESTS) $(PYTEST_ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --include '*/tenure/core/*' --fail-under 100 --skip-covered --show-missing
	$(BIN)/coverage report --include '*/tenure/code/*' --fail-under 95 --skip-covered --show-missing

.PHONY: format
format: $(STAMP) ## Format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.PHONY: serve
serve: $(STAMP) ## Run the local server in the foreground
	$(BIN)/tenure serve

.PHONY: migrate
migrate: $(STAMP) ## Bring the database to the newest schema
	$(BIN)/tenure migrate

.PHONY: bench
bench: $(STAMP) ## List the benchmarks; each is a command that prints figures beside a baseline
	$(BIN)/tenure bench --help

.PHONY: services
services: ## Start real backing services (the embedded default needs none; they come with the adapters for them)
	@echo "The embedded default needs no service. Adapters for Postgres, Redis and Neo4j have not landed yet."

.PHONY: services-down
services-down: ## Stop what `services` started
	@echo "Nothing was started."

.PHONY: clean
clean: ## Remove the virtual environment and everything generated
	rm -rf $(VENV) .demo demo.json .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
