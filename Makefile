# The entry points of development. Each installs what it needs; a second run takes seconds.
#   make demo    build, install the packages and run models/demo.py
#   make test    core tests on a sanitized library, ctest, pytest
#   make test-torch    PyTorch's own databases and test files on the device
#   make test-versions    the Python tests with every pair of Python and torch; hours
#   make test-browser    the timeline page in Debian's chromium
#   make fuzz    random operators, kernels, programs, files and commands (CASES=1000 of each class)
#   make models   networks on the device against the CPU; writes docs/models.md; published models in
#                 simulated time, half an hour; writes docs/whole_models.md, docs/generation.md
#   make coverage    lines of device/ and ops/ that the core tests run
#   make mutants    small changes of csrc/, ops/ and python_bindings/, and whether tests notice
#   make wheel    wheels for every supported Python and torch, and an sdist, in dist/
#   make test-wheels    those wheels in fresh environments, as users install them
#   make arm64    core, modules, PyTorch layer and core tests for arm64 Linux, cross-built
#   make test-arm64    some core tests and Python tests of them under qemu-user
#   make docs    the site of all pages, with search and the Python interface, in build/site; runs notebooks
#   make lint    formatting, types, include directions, lengths, clang-tidy on changed files
#   make bench   every benchmark
# The environment is the active one (VIRTUAL_ENV), else .venv, created when missing.

SHELL := /bin/bash
export VENV := $(or $(VIRTUAL_ENV),$(CURDIR)/.venv)
export VIRTUAL_ENV := $(VENV)
export PYTHON ?= python3
# setup needs the interpreter from outside the environment; all others use the environment's.
IN_VENV := PATH="$(VENV)/bin:$$PATH"
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell nproc)
# Packages are installed without compiled modules: those that are imported are compiled once.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: docs help setup setup-demo setup-lint build package wheel test-wheels arm64 test-arm64 demo test test-torch test-versions test-browser fuzz models test-sanitize test-threads coverage mutants lint tidy format bench clean
.NOTPARALLEL:

help:
	@sed -n 's/^#   //p' Makefile

setup:
	@tools/setup.sh

setup-demo:
	@tools/setup.sh demo

setup-lint:
	@tools/setup.sh lint

build: setup
	@$(IN_VENV) tools/build.sh release

# The packages alone, without tests, C++ models and benchmarks.
package: setup
	@$(IN_VENV) tools/build.sh package

wheel: setup
	@$(IN_VENV) python tools/build_wheels.py

test-wheels: setup
	@$(IN_VENV) python tools/test_wheels.py

# The types of _core are read off the module that is installed here.
arm64: package
	@$(IN_VENV) tools/arm64.sh

test-arm64: arm64
	@$(IN_VENV) tools/arm64.sh test

demo:
	@echo "demo: the first run installs and compiles, about eight minutes on two cores"
	@$(MAKE) --no-print-directory setup-demo
	@$(IN_VENV) tools/build.sh demo
	@echo "demo: models/demo.py"
	@$(IN_VENV) python models/demo.py

test: build
	@$(IN_VENV) tools/test.sh

# A broken link is an error. Sphinx knows of a change to the pages, not to docstrings.
docs: package
	@$(IN_VENV) python -m sphinx -q -W --keep-going -b html -c tools/site . build/site
	@echo "docs: open build/site/README.html"

test-torch: package
	@$(IN_VENV) python tests/torch_suites
	@$(IN_VENV) python tests/torch_suites/pytorch_files.py

test-versions: package
	@$(IN_VENV) python tools/torch_versions.py
	@$(IN_VENV) python tools/write_figures.py

# The browser is large, so only this target installs it; elsewhere the tests are skipped.
test-browser: package
	@$(IN_VENV) tools/install_browser.sh
	@$(IN_VENV) python -m pytest -q tests/python/timeline -k browser

# Cases of each class, from this seed on.
CASES ?= 1000
SEED ?= 0
fuzz: package
	@$(IN_VENV) python tests/fuzz --cases $(CASES) --seed $(SEED)

models: package
	@$(IN_VENV) python models/zoo/report.py
	@$(IN_VENV) neuron-sim model --published --output build/published_times.json
	@$(IN_VENV) python tools/write_whole_model_docs.py --report build/published_times.json
	@$(IN_VENV) python tools/write_generation_docs.py --report build/published_times.json
	@$(IN_VENV) python tools/write_figures.py

test-sanitize: setup
	@$(IN_VENV) tools/test_sanitized.sh asan-ubsan

test-threads: setup
	@$(IN_VENV) tools/test_sanitized.sh tsan

# gcovr gets the count files by name: given the folder, it fails on notes of a removed source file.
# Threads that race can leave a negative count; its line then counts as not run.
coverage: setup
	@mkdir -p build/coverage && find build/coverage -name '*.gcda' -delete
	@$(IN_VENV) tools/test_sanitized.sh coverage
	@$(IN_VENV) gcovr -j $(CMAKE_BUILD_PARALLEL_LEVEL) --merge-mode-functions separate \
	  --gcov-ignore-parse-errors negative_hits.warn_once_per_file \
	  --gcov-suspicious-hits-threshold 0 --filter device/ --filter ops/ \
	  --json build/coverage/lines.json $$(find build/coverage -name '*.gcda')
	@status=0; for folder in device ops; do \
	  $(IN_VENV) gcovr --add-tracefile build/coverage/lines.json --filter $$folder/ \
	    --merge-lines --sort uncovered-number --sort-reverse --fail-under-line 90 || status=1; \
	done; exit $$status

mutants: build
	@$(IN_VENV) python tools/mutants/mutants.py $(if $(ROOM),--room $(ROOM)) $(if $(SEED),--seed $(SEED))

# The types of _core, which mypy reads, are read off the installed module.
lint: setup-lint package
	@$(IN_VENV) tools/build.sh --configure tidy
	@$(IN_VENV) tools/lint.sh

# clang-tidy on every file of device/ and ops/, not only on the changed ones.
tidy: setup-lint
	@$(IN_VENV) tools/build.sh --configure tidy
	@$(IN_VENV) tools/clang_tidy.sh --all

format: setup-lint
	@find device ops csrc python_bindings models benchmarks tests examples \
	  \( -name '*.h' -o -name '*.cpp' \) -print0 2>/dev/null | xargs -0 clang-format -i
	@$(IN_VENV) ruff check --quiet --fix . ; $(IN_VENV) ruff format --quiet .

bench: build
	@$(IN_VENV) tools/bench.sh

clean:
	rm -rf build
