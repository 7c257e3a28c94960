# Everything a newcomer or CI needs. Each target sets up its own environment in .venv first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test lint bench torture browser clean

demo: $(READY)
	$(BIN)/fairexp demo --out demo --overwrite

test: lint browser
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist worksteal

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

torture: $(READY)
	$(BIN)/python -m tests.service.torture --kills 100 --store torture.db
	$(BIN)/python -m tests.service.torture --kills 100 --store pgserver

# Pages are tested in a real browser: Debian's, where it can be had.
browser:
	@command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium) >/dev/null 2>&1 || \
		echo "No chromium and no way to install it: tests of pages will be skipped (or fail under CI=true)."

bench: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	touch $(READY)

clean:
	rm -rf $(VENV) demo .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
