# Everything a newcomer needs; each target sets up what it uses. `make demo` and `make test` are the two to know.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check install -qq

.PHONY: demo test check bench faults docs clean

demo: .venv/.installed
	@$(BIN)/tsveil demo

test: .venv/.test
	@$(BIN)/python -m pytest -n auto --dist loadgroup

check: .venv/.test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest tests/test_imports.py

bench: .venv/.bench
	@$(BIN)/python benchmarks/run.py

# The kill tests with 70 kills each instead of 3 to 13.
faults: .venv/.test
	@TSVEIL_KILLS=70 $(BIN)/python -m pytest tests/faults

docs: .venv/.docs
	@$(BIN)/python docs/make.py site

# Ten minutes unless FUZZ_SECONDS says otherwise: readers, plans and verifiers with atheris; then methods, with the bounds of arrays checked.
FUZZ_SECONDS ?= 600
fuzz: .venv/.fuzz
	@FUZZ_SECONDS=$$(($(FUZZ_SECONDS) * 2 / 3)) $(BIN)/python tests/fuzz/run.py
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=.venv/checked FUZZ_EXAMPLES=$$(($(FUZZ_SECONDS) / 2 + 1)) $(BIN)/python -m pytest -n auto tests/fuzz

.venv/bin/python:
	@$(PYTHON) -m venv .venv

.venv/.installed: .venv/bin/python pyproject.toml
	@$(PIP) -e .
	@touch $@

.venv/.test: .venv/bin/python pyproject.toml
	@$(PIP) -e '.[test]'
	@touch $@ .venv/.installed

.venv/.fuzz: .venv/bin/python pyproject.toml
	@$(PIP) -e '.[fuzz]'
	@touch $@ .venv/.test .venv/.installed

.venv/.bench: .venv/bin/python pyproject.toml
	@$(PIP) -e '.[test,bench]'
	@touch $@ .venv/.test .venv/.installed

.venv/.docs: .venv/bin/python pyproject.toml
	@$(PIP) -e '.[docs]'
	@touch $@ .venv/.installed

clean:
	@rm -rf .venv demo site build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
