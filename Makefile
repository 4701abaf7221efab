# Needs python3 (3.11 or newer, with venv) and make; the rest is installed into .venv.
# Every path is relative, so the checkout may lie in a folder whose name has spaces.

PYTHON ?= python3
BIN := .venv/bin
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check

# One BLAS thread per test process: pytest already runs one process per core.
TEST := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo gallery test test-all fuzz lint format bench docs web clean

help: ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | \
	while IFS='|' read -r name text; do printf '  make %-10s %s\n' "$$name" "$$text"; done

demo: .venv/.learn ## see what chainrule does: a gradient, and a network that learns the digits
	$(BIN)/chainrule demo --out build/demo

gallery: .venv/.learn ## write the explorer pages of ten graphs, and a page that shows them all
	$(BIN)/python examples/gallery.py build/gallery

test: .venv/.installed ## run the tests, but for the slow ones
	$(TEST)

test-all: .venv/.installed ## run every test
	$(TEST) -m ""

SECONDS ?= 600
SEED ?= 0
fuzz: .venv/.installed ## compare random programs compiled and plain: make fuzz SECONDS=600 SEED=0
	CHAINRULE_CACHE=off OMP_NUM_THREADS=1 $(BIN)/python -m tests.run.differential \
		--seconds $(SECONDS) --seed $(SEED) --log build/fuzz-$(SEED).log

lint: .venv/.installed ## check style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: .venv/.installed ## repair style and formatting
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .

bench: .venv/.bench ## run the benchmarks against the peers
	$(BIN)/python -m benchmarks

docs: .venv/.docs ## build the documentation into site/
	$(BIN)/mkdocs build --strict --quiet

web: ## build the explorer page and the view of training from web/ (needs Node 20 or newer)
	cd web && npm install --no-save --no-audit --no-fund && npm test && npm run build

clean: ## remove all that make has made
	rm -rf .venv build dist site web/node_modules .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit("chainrule needs Python 3.11 or newer: make PYTHON=..." if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

# With what training needs; with what tests and checks need; with the peers; with the page builder.
.venv/.learn: pyproject.toml | .venv/pyvenv.cfg
	$(PIP_INSTALL) -e '.[learn]'
	@touch $@

.venv/.installed: pyproject.toml | .venv/pyvenv.cfg
	$(PIP_INSTALL) -e '.[dev]'
	@touch .venv/.learn $@

.venv/.bench: pyproject.toml | .venv/pyvenv.cfg
	$(PIP_INSTALL) -e '.[bench]'
	@touch $@

.venv/.docs: pyproject.toml | .venv/pyvenv.cfg
	$(PIP_INSTALL) -e '.[docs]'
	@touch $@
