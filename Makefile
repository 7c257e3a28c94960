# Everything a newcomer or CI needs. Each target sets up its own environment in .venv first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Of 12,000 files that are installed, few are ever imported: those keep their bytecode then, whatever the environment says.
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt
export PYTHONDONTWRITEBYTECODE :=
NO_TOOLS = The tools that build fairexp could not be installed from the package index. If it offers no ziglang, which \
serves as a C compiler where there is none, install one: apt-get install gcc (Debian), xcode-select --install (macOS).

.PHONY: demo test test-bounds guarantees rankers-table docs readme-record results-record lint bench torture browser wheel clean

demo: $(READY)
	$(BIN)/fairexp demo --out demo --overwrite

# The browser is fetched beside the rest of the set-up. Style and types are checked beside the tests, and told when both
# are done. Three processes on two cores, for tests wait for servers and browsers.
#
# Nobody keeps the bytecode of a package that is installed in place, so each of the many processes would translate it
# again; and each that runs tests would rewrite the asserts of all of them. Both are done once, before they start.
test:
	@$(MAKE) --no-print-directory --jobs=2 $(READY) browser
	@$(MAKE) --no-print-directory lint >$(VENV)/lint.log 2>&1 & lint=$$!; \
	$(BIN)/python -m compileall -q src; $(BIN)/python -m pytest --collect-only >$(VENV)/collected.log 2>&1; \
	export OPENBLAS_NUM_THREADS=1; $(BIN)/python -m pytest -n 3 --dist worksteal; tests=$$?; \
	wait $$lint; style=$$?; cat $(VENV)/lint.log; exit $$((tests + style))

# The kernels once more, with every index checked and memory watched, on 2,000 made-up cases for each test of test_fuzz.
BOUNDS := $(VENV)-bounds
CHECKED := -Csetup-args=-Dbounds=true -Csetup-args=-Doptimization=1 -Csetup-args=-Db_sanitize=address -Csetup-args=-Db_lundef=false
test-bounds:
	@command -v gcc >/dev/null || (echo "make test-bounds needs gcc: its libasan watches memory."; exit 1)
	$(PYTHON) -m venv $(BOUNDS)
	$(BOUNDS)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		$$($(PYTHON) build_backend/fairexp_build.py) pytest hypothesis numpy
	$(BOUNDS)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt \
		--no-build-isolation --force-reinstall --no-deps $(CHECKED) .
	$(BOUNDS)/bin/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt fairexp
	for level in baseline v3; do FAIREXP_CPU=$$level LD_PRELOAD=$$(gcc -print-file-name=libasan.so) \
		ASAN_OPTIONS=detect_leaks=0 PYTHONMALLOC=malloc OPENBLAS_NUM_THREADS=1 FAIREXP_FUZZ_CASES=2000 \
		$(BOUNDS)/bin/python -m pytest tests/kernels || exit 1; done

# What every ranker promises, in 20 long runs of each under its own click model, alone and inside FairExp.
guarantees: $(READY)
	FAIREXP_GUARANTEE_RUNS=20 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --log-cli-level=INFO \
		tests/rankers/test_guarantees.py tests/fairness/test_hosts.py -k "grows_more_slowly or own_solution"

# The measured table of docs/rankers.md; it also tells of MQ2008 where that lies in ../shared/data.
rankers-table: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.rankers

# Every table, chart and page that is made from records or from the code; measures nothing. The targets below it do, and
# need LETOR 4.0 MQ2008, in the folder MQ2008=DIR that holds Fold1 to Fold5.
docs: $(READY)
	$(BIN)/python -m benchmarks.pages

readme-record: $(READY)
	@test -f "$(MQ2008)/Fold1/train.txt" || (echo "make readme-record needs MQ2008=DIR, the folder that holds Fold1"; exit 1)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks.readme --folder $(MQ2008)
	$(BIN)/python -m benchmarks.pages --pages-only

results-record: $(READY)
	@test -f "$(MQ2008)/Fold5/train.txt" || (echo "make results-record needs MQ2008=DIR, the folder that holds Fold1 to Fold5"; exit 1)
	mkdir -p data && ln -sfn $(abspath $(MQ2008)) data/MQ2008
	OPENBLAS_NUM_THREADS=1 $(BIN)/fairexp experiment run examples/mq2008.yaml --out results/mq2008
	$(BIN)/python -m benchmarks.results results/mq2008
	$(BIN)/python -m benchmarks.pages --pages-only

# The sdist, and a wheel for each Python of this machine, tried in an environment of its own.
wheel:
	$(PYTHON) build_backend/try_wheels.py

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	MESONPY_EDITABLE_SKIP="$$(echo $(CURDIR)/build/* | tr ' ' :)" PYTHONPATH=src $(BIN)/lint-imports --no-logo

torture: $(READY)
	$(BIN)/python -m tests.service.torture --kills 100 --store torture.db
	$(BIN)/python -m tests.service.torture --kills 100 --store pgserver

# Pages are tested in a real browser: Debian's, where it can be had.
browser:
	@command -v chromium >/dev/null || (apt-get update -qq && apt-get install -y -qq chromium) >/dev/null 2>&1 || \
		echo "No chromium and no way to install it: tests of pages will be skipped (or fail under CI=true)."

bench: $(READY)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m benchmarks

# Kernels are compiled here, and again on import when their sources change: hence no isolated build. What tests and tools
# need is fetched and unpacked meanwhile; a pip of today needs half the time for it that the one of Python 3.11 takes.
$(READY): pyproject.toml constraints.txt meson.build build_backend/fairexp_build.py
	$(PYTHON) -m venv $(VENV)
	@$(PIP) --upgrade pip 2>/dev/null || echo "No newer pip can be had: the one that Python brings is slower, and will do."
	$(PIP) $$($(PYTHON) build_backend/fairexp_build.py) || (echo "$(NO_TOOLS)"; exit 1)
	@echo "Compiling the kernels, and installing what tests and tools need ..."
	@$(PYTHON) build_backend/fairexp_build.py dev >$(VENV)/dev.txt
	@$(PIP) --no-build-isolation --no-deps --editable . & kernels=$$!; \
	$(PIP) --requirement $(VENV)/dev.txt; others=$$?; wait $$kernels && exit $$others
	touch $(READY)

clean:
	rm -rf $(VENV) $(BOUNDS) build dist demo .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
