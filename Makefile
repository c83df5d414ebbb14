# `make lab` opens the tutorial, `make demo` shows the whole way without a browser, `make test` tests.
# TORCH_INDEX=URL chooses the index that torch comes from, such as that of its CPU builds.

PYTHON ?= $(or $(shell command -v python3.11),python3)
TORCH_INDEX ?=
BIN := .venv/bin
NEWEST := .venv-newest/bin
FRONTEND := assets/frontend
# the notebooks of `make test`: the five that a newcomer reads first; `make test-all` runs all
SHORT := $(foreach number,01 02 04 05 07,$(wildcard notebooks/$(number)_*.ipynb))
# two processes, each with whole files: most of a test's time is a compiler's that has one thread
TWO := -n 2 --dist loadfile
CONSTRAINED := install --quiet --constraint constraints.txt

.PHONY: setup lab demo test test-all test-newest check bench browser frontend screenshots notebooks
setup: .venv/.lab

.venv/.python:
	$(PYTHON) -m venv .venv
	touch $@

.venv/.torch: .venv/.python constraints.txt
	$(BIN)/pip $(CONSTRAINED) $(addprefix --index-url ,$(TORCH_INDEX)) torch
	touch $@

.venv/.lab: .venv/.torch pyproject.toml
	$(BIN)/pip $(CONSTRAINED) --editable '.[lab]'
	touch $@

.venv/.test: .venv/.torch pyproject.toml
	$(BIN)/pip $(CONSTRAINED) --editable '.[lab,test,dev]'
	touch $@ .venv/.lab

lab: .venv/.lab
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks/01_quick_start.ipynb

demo: .venv/.lab
	$(BIN)/python -m workbench.demo

browser:
	sh tests/browser/install_chromium.sh

test: .venv/.test browser $(FRONTEND)/node_modules/.installed
	$(BIN)/python -m pytest $(TWO) -m 'not slow and not gpu and not browser'
	$(BIN)/python -m pytest -m 'not slow and browser'
	$(BIN)/python -m pytest --nbval-lax $(SHORT)

test-all: .venv/.test browser $(FRONTEND)/node_modules/.installed
	$(BIN)/python -m pytest -m 'not gpu'
	$(BIN)/python -m pytest --nbval-lax notebooks

# without the widgets' state, in which the front end is once more
notebooks: .venv/.test
	$(BIN)/jupyter nbconvert --to notebook --execute --inplace $(sort $(wildcard notebooks/*.ipynb)) \
		--ExecutePreprocessor.store_widget_state=False --ExecutePreprocessor.record_timing=False

.venv-newest/.test: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv-newest
	grep -v -E '^(torch|triton)==' constraints.txt > .venv-newest/constraints.txt
	$(NEWEST)/pip install --quiet --constraint .venv-newest/constraints.txt 'torch==2.15.*' --editable '.[lab,test]'
	touch $@

test-newest: .venv-newest/.test browser
	$(NEWEST)/python -m pytest -m 'not slow and not gpu'

$(FRONTEND)/node_modules/.installed: $(FRONTEND)/package-lock.json
	sh $(FRONTEND)/install_node.sh
	cd $(FRONTEND) && npm ci --no-audit --no-fund --loglevel=error
	touch $@

frontend: $(FRONTEND)/node_modules/.installed
	cd $(FRONTEND) && npm run build

screenshots: .venv/.test browser
	$(BIN)/python -m tests.browser.screenshots out/screenshots

check: .venv/.test $(FRONTEND)/node_modules/.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	cd $(FRONTEND) && npm run check

bench: .venv/.test
	$(BIN)/python -m tests.bench --json bench.json
