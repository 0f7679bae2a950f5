# Everything a newcomer needs; each target sets up what it uses. `make demo` and `make test` are the two to know.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip --disable-pip-version-check install -qq

# Python keeps what it compiles, wherever it was told not to: the suite starts hundreds of processes, which would each compile all modules anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test lowest oracles wheel check bench bench-quick exhaustive faults docs fuzz fuzz-inputs coverage mutation lock licences sbom clean

demo: .venv/.installed
	@$(BIN)/tsveil demo

test: .venv/.test .venv/.warm
	@$(BIN)/python -m pytest -n auto

check: .venv/.test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m pytest tests/test_imports.py

# The core of the suite, with the lowest versions that pyproject.toml allows: reading, promises, protecting, plans and the command line.
CORE := tests/data tests/guarantee tests/protect/test_base.py tests/protect/test_microaggregation.py tests/protect/test_noise.py \
  tests/protect/test_parameters.py tests/test_plan.py tests/test_release.py tests/cli/test_commands.py tests/cli/test_words.py
lowest: .venv-lowest/.installed
	@NUMBA_CACHE_DIR=.venv-lowest/compiled .venv-lowest/bin/python -m pytest -n auto $(CORE)

# Programs of others, in an environment of their own, against which releases are checked; `make test` skips these tests where it is missing.
oracles: .venv/.test .venv-oracles/.installed
	@TSVEIL_ORACLES=1 $(BIN)/python -m pytest tests/oracles

# The wheel and the sdist, and the wheel alone in an empty environment, made and used as the Dockerfile says.
wheel: .venv/.test
	@$(PIP) 'hatchling>=1.27'
	@$(BIN)/python tools/wheel.py

bench: .venv/.bench
	@$(BIN)/python benchmarks/run.py

# The comparisons with other programs, in small sizes, in less than two minutes.
bench-quick: .venv/.bench
	@$(BIN)/python benchmarks/run.py --quick

# All cases of these tests, of which the suite runs a share (tests/cases.py).
exhaustive: .venv/.test
	@TSVEIL_EXHAUSTIVE=1 $(BIN)/python -m pytest -n auto $$(grep -rl '^from cases import' tests)

# The kill tests with 60 kills each instead of 5, in memory, in chunks and on Dask, and 30 signals to end instead of 3.
faults: .venv/.test
	@TSVEIL_KILLS=60 $(BIN)/python -m pytest tests/faults

docs: .venv/.docs
	@$(BIN)/python docs/make.py site

# Ten minutes unless FUZZ_SECONDS says otherwise: readers, plans and verifiers with atheris; then methods, with the bounds of arrays checked.
FUZZ_SECONDS ?= 600
fuzz: .venv/.fuzz
	@FUZZ_SECONDS=$$(($(FUZZ_SECONDS) * 2 / 3)) $(BIN)/python tests/fuzz/run.py
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=.venv/checked FUZZ_EXAMPLES=$$(($(FUZZ_SECONDS) / 2 + 1)) $(BIN)/python -m pytest -n auto tests/fuzz

# Mutated files, plans and command lines, of which the suite tries 2,000.
fuzz-inputs: .venv/.test
	@TSVEIL_EXHAUSTIVE=1 TSVEIL_INPUTS=100000 $(BIN)/python -m pytest -n auto tests/fuzz/test_inputs.py

# The lines of src/ that the tests run, with kernels as plain Python; tests/slow_without_jit.txt says which tests are left out.
coverage: .venv/.test
	@$(PIP) 'coverage>=7.10'
	@rm -rf build/coverage && mkdir -p build/coverage
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m coverage run --parallel-mode -m pytest -n auto
	@$(BIN)/python -m coverage combine --quiet
	@$(BIN)/python -m coverage report --skip-covered --fail-under=95

# Faults are put into the source, and the tests must notice: first those that would hurt most, by name; then small ones in protect/ and guarantee/, a
# sample of so many in each module.
PER_MODULE ?= 8
MUTATION_SEED ?= 2026
mutation: .venv/.test
	@$(PIP) cosmic-ray
	@$(BIN)/python tools/mutate_named.py
	@$(BIN)/python tools/mutate.py --per-module $(PER_MODULE) --seed $(MUTATION_SEED)

# Versions stay as they are where they still fit; `uv pip compile --upgrade` in place of it takes the newest.
lock: .venv/bin/python
	@$(PIP) uv
	@$(BIN)/uv pip compile --quiet --no-config --generate-hashes --universal --python-version 3.11.5 --no-header \
	  --strip-extras --extra test --output-file requirements/ci.txt pyproject.toml requirements/build.in
	@$(BIN)/uv pip compile --quiet --no-config --generate-hashes --universal --python-version 3.11.5 --no-header \
	  --strip-extras --extra core --resolution lowest-direct --output-file requirements/lowest.txt pyproject.toml requirements/build.in
	@$(BIN)/uv pip compile --quiet --no-config --generate-hashes --universal --python-version 3.11.5 --no-header \
	  --override requirements/oracles-overrides.in --output-file requirements/oracles.txt requirements/oracles.in

licences: .venv/.test
	@$(PIP) pip-licenses
	@$(BIN)/pip-licenses --from=mixed --partial-match --ignore-packages tsveil atheris --allow-only "$$(paste -sd ';' requirements/licences.txt)"

sbom: .venv/.test
	@$(PIP) cyclonedx-bom
	@mkdir -p build && $(BIN)/cyclonedx-py environment --output-file build/sbom.json $(BIN)/python && echo build/sbom.json

.venv/bin/python:
	@$(PYTHON) -m venv .venv

.venv/.installed: .venv/bin/python pyproject.toml
	@$(PIP) -e .
	@touch $@

# Compiled once, ahead of the tests, whose processes would each compile the same.
.venv/.warm: .venv/.test $(wildcard src/tsveil/_kernels/*.py)
	@$(BIN)/tsveil warm
	@touch $@

# LOCKED: exactly the packages of the lock file, whose hashes are checked, and no others to build with.
.venv/.test: .venv/bin/python pyproject.toml requirements/ci.txt
ifdef LOCKED
	@$(PIP) --require-hashes -r requirements/ci.txt
	@$(PIP) --no-deps --no-build-isolation -e .
else
	@$(PIP) -e '.[test]'
endif
	@touch $@ .venv/.installed

.venv-lowest/.installed: pyproject.toml requirements/lowest.txt
	@$(PYTHON) -m venv .venv-lowest
	@.venv-lowest/bin/pip --disable-pip-version-check install -qq --require-hashes -r requirements/lowest.txt
	@.venv-lowest/bin/pip --disable-pip-version-check install -qq --no-deps --no-build-isolation -e .
	@touch $@

# Only what the lock file names: those programs ask for single versions of libraries that some tested Python lacks (requirements/oracles-overrides.in).
.venv-oracles/.installed: requirements/oracles.txt
	@$(PYTHON) -m venv .venv-oracles
	@.venv-oracles/bin/pip --disable-pip-version-check install -qq --no-deps --require-hashes -r requirements/oracles.txt
	@touch $@

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
	@rm -rf .venv .venv-lowest .venv-oracles demo site build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
