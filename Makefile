# SPDX-License-Identifier: Apache-2.0
#
#   make demo     set up, record the example program in both versions, write the two reports
#   make test     set up and run every test
#   make check    format, lint, types, and the quick tests: no compiler, program, guest, browser
#   make setup    only install what is missing, into .venv
#   make docs     the documents as a site, in build/site/pages
#   make wheel    the wheel for pip, in dist/, and its proof in bare systems (see packaging/)
#   make deb      the Debian package, in dist/, from the wheel there, and its proof in a bare system
#   make native   after a change in C++ or the viewer: rebuild and install just that
#   make format   format all sources
#
# Python sources are installed editable: a change in them needs none of these.

PYTHON ?= python3
# How many tests at a time. Most have threads of their own; a guest has up to eight CPUs.
TEST_PROCESSES ?= 2
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/setup-stamp
# pip compiles Python files when it installs them, but not those that are used in place. Where
# PYTHONDONTWRITEBYTECODE is set, each start would compile them again: a tenth of a second.
COMPILE = $(BIN)/python -m compileall -q src/numascape
# What the installation is made from. Python files are not in it, because they are used in place.
SOURCES := pyproject.toml constraints.txt packages.apt CMakeLists.txt \
	$(shell find cmake include src/native src/viewer -name node_modules -prune -o -name dist -prune \
	-o -type f -print 2>/dev/null)

.PHONY: demo test docs wheel deb check check-sources check-tests setup native format clean
.DELETE_ON_ERROR:

setup: $(STAMP)
	@:

$(STAMP): $(SOURCES)
	@.ci/install-packages
	@test -x $(BIN)/python || { echo "Creating $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "Installing Numascape and its tests' libraries into $(VENV)" \
	"(the first time this builds DynamoRIO: a few minutes)"
	@$(BIN)/pip install --quiet -c constraints.txt scikit-build-core nanobind
	@$(BIN)/pip install --quiet -c constraints.txt --no-build-isolation --editable '.[test]'
	@$(COMPILE)
	@touch $@
	@echo "Installed: $$($(BIN)/numascape --version | head -n 1), as $(BIN)/numascape"

native:
	@test -e $(STAMP) || $(MAKE) --no-print-directory setup
	@cmake --build build/package
	@cmake --install build/package --prefix \
	"$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')/numascape" \
	>build/package/install.log

test: $(STAMP)
	@$(COMPILE)
	@$(MAKE) --no-print-directory -C examples
	@$(BIN)/python -m pytest --numprocesses $(TEST_PROCESSES) --durations 25

check: $(STAMP)
	@$(MAKE) --no-print-directory --jobs 2 check-sources check-tests

check-sources:
	@$(BIN)/ruff check --quiet . && $(BIN)/ruff format --quiet --check .
	@git ls-files '*.c' '*.cpp' '*.h' '*.hpp' | xargs -r $(BIN)/clang-format --dry-run -Werror
	@cd src/viewer && npm run --silent check && npm test --silent
	@$(BIN)/python -m mypy

# All other folders of tests need what is left out here (tests/conftest.py). What Python compiles is
# kept for the next time, also where PYTHONDONTWRITEBYTECODE is set: compiling takes seconds. For
# tables as small as here, Polars is quickest with one thread and without its streaming engine;
# `make test` runs the same tests with what Polars chooses.
check-tests:
	@PYTHONDONTWRITEBYTECODE= POLARS_MAX_THREADS=1 POLARS_ENGINE_AFFINITY=in-memory \
	POLARS_NO_PARTITION=1 $(BIN)/python -m pytest --quiet --numprocesses $(TEST_PROCESSES) \
	-m 'not compiler and not program and not guest and not browser and not runtime and not slow' \
	tests/unit

docs: $(STAMP)
	@packaging/site/build $(BIN)/python

wheel: $(STAMP)
	@packaging/wheel/build $(BIN)/python
	@$(MAKE) --no-print-directory -C examples
	@if [ "$$(id -u)" = 0 ]; then \
	command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null; \
	$(BIN)/python -m pytest --timeout 3600 packaging/wheel; \
	else echo "The wheel is made, but not proved in bare systems: this needs root."; fi

deb: $(STAMP)
	@packaging/debian/build $(BIN)/python
	@$(MAKE) --no-print-directory -C examples
	@if [ "$$(id -u)" = 0 ]; then \
	command -v debootstrap >/dev/null || apt-get install -y -qq debootstrap >/dev/null; \
	$(BIN)/python -m pytest --timeout 3600 packaging/debian; \
	else echo "The package is made, but not proved in a bare system: this needs root."; fi

demo: $(STAMP)
	@$(MAKE) --no-print-directory -C examples
	@mkdir -p demo
	@for version in naive block; do \
	$(BIN)/numascape record --measure-cost -o demo/matmul-$$version.numascape -- \
	examples/build/matmul $$version && \
	$(BIN)/numascape report -q demo/matmul-$$version.numascape -o demo/matmul-$$version.html \
	|| exit; done
	@echo; echo "Open these two pages in a browser, choose the structure C, and compare:"
	@ls $(CURDIR)/demo/matmul-naive.html $(CURDIR)/demo/matmul-block.html

format: $(STAMP)
	@$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format --quiet .
	@git ls-files '*.c' '*.cpp' '*.h' '*.hpp' | xargs -r $(BIN)/clang-format -i
	@cd src/viewer && npm run --silent format

clean:
	@rm -rf $(VENV) build demo examples/build src/viewer/dist src/viewer/node_modules
