# `make lab` opens the tutorial, `make demo` shows the whole way without a browser,
# `make demo-gpu` compiles an 8B model for an H100, `make test` tests, `make docs` builds the site.
# TORCH_INDEX=URL chooses the index that torch comes from, such as that of its CPU builds; without a
# GPU, a build with CUDA is installed only with TORCH_CUDA=1. PYTHON=… names the interpreter.

# whatever the shell says, bytecode is kept: every test that starts a process would compile our sources
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?=
BARE := $(or $(PYTHON),$(shell command -v python3.11),python3)
TORCH_INDEX ?=
TORCH_CUDA ?=
BIN := .venv/bin
NEWEST := .venv-newest/bin
FRONTEND := assets/frontend
# the notebook of `make test`: the one that a newcomer reads first; `make test-notebooks` runs all
SHORT := $(foreach number,01,$(wildcard notebooks/$(number)_*.ipynb))
# whole files in three processes: a test waits for compilers, for kernels that start, for a browser
NBVAL := --nbval-lax --nbval-sanitize-with tests/notebooks/sanitize.cfg
THREE := -n 3 --dist loadgroup --max-worker-restart 0
THREE_FILES := -n 3 --dist loadfile --max-worker-restart 0
CONSTRAINED := install --quiet --constraint constraints.txt
BESIDE := install --quiet --no-deps --upgrade --target .venv/zoo/site-packages
# a CI shows where the time goes
WORLDS = $(notdir $(patsubst %/world.py,%,$(wildcard workbench/worlds/*/world.py)))
PYTEST := -m pytest $(if $(CI),--durations=25)
MEASURED = $(if $(CI),--durations-file out/durations/$(1).json)

.PHONY: setup lab demo demo-gpu test test-rest durations test-all test-newest test-versions test-gpu test-wild check bench \
	browser linker json packages frontend screenshots pictures notebooks docs test-notebooks
setup: .venv/.lab

.venv/.python:
	@python="$(PYTHON)"; test -n "$$python" || python=$$(python3 install.py python) && $$python -m venv .venv
	touch $@

.venv/.torch: .venv/.python constraints.txt
	@$(BIN)/python install.py torch '$(TORCH_INDEX)' '$(TORCH_CUDA)'
	touch $@

.venv/.lab: .venv/.torch pyproject.toml
	$(BIN)/pip $(CONSTRAINED) --editable '.[lab]'
	touch $@

.venv/.test: .venv/.torch pyproject.toml
	$(BIN)/pip $(CONSTRAINED) --editable '.[lab,test,dev]'
	touch $@ .venv/.lab .venv/.docs

# models of other libraries: beside the environment, in which they would change what other tests
# see, and without what they ask for, which would bring another torch
.venv/.libraries: .venv/.test tests/libraries/quick.txt
	$(BIN)/pip $(BESIDE) --requirement tests/libraries/quick.txt
	touch $@

.venv/.all-libraries: .venv/.libraries tests/libraries/rest.txt
	$(BIN)/pip $(BESIDE) --requirement tests/libraries/rest.txt
	touch $@

.venv/.docs: .venv/.torch pyproject.toml
	$(BIN)/pip $(CONSTRAINED) --editable '.[lab,docs]'
	touch $@ .venv/.lab

lab: .venv/.lab
	$(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root) notebooks/01_quick_start.ipynb

demo: .venv/.lab
	$(BIN)/python -m workbench.demo

# an 8-billion-parameter model for an H100, on the CPU and without its weights
demo-gpu: .venv/.lab
	$(BIN)/python -m workbench.demo --gpu

browser:
	sh tests/install_package.sh 'chromium chromium-browser google-chrome-stable google-chrome' \
		'chromium fonts-dejavu-core' 'The browser tests will be skipped: install Chromium to run them'

# links a kernel in half the time, which a machine with empty caches does a thousand times
linker:
	sh tests/install_package.sh mold mold 'The tests take longer without the linker mold'

# the service of a C++ project reads JSON by it
json:
	@pkg-config --exists nlohmann_json 2> /dev/null || sh tests/install_package.sh '' \
		'pkg-config nlohmann-json3-dev' 'The tests of the C++ service will be skipped without nlohmann_json'

# what tests take from the front end's packages (axe-core); without Node.js those few are skipped,
# which a CI does not accept
packages:
	$(if $(CI),,-)@$(MAKE) --no-print-directory $(FRONTEND)/node_modules/.installed

# what is quick and one way through each door (tests/parts.py); make test ROOM=views is one room whole
test: .venv/.libraries browser linker json packages
ifdef ROOM
	$(BIN)/python $(PYTEST) $(THREE) -m 'not gpu' tests/$(ROOM)
else
	$(BIN)/python $(PYTEST) $(THREE) --part short $(call MEASURED,short) -m 'not slow and not gpu' \
		$(NBVAL) $(SHORT) tests
endif

test-rest: .venv/.libraries browser linker json packages
	$(BIN)/python $(PYTEST) $(THREE) --part rest $(call MEASURED,rest) -m 'not slow and not gpu' tests

# what the last test and test-rest with CI=1 took becomes the file that parts them
durations:
	$(BIN)/python -m tests.parts out/durations/short.json out/durations/rest.json

# every notebook from its first cell to its last, beside its saved outputs; a process runs one at a
# time, a cell waits for the compiler more than it computes
test-notebooks: .venv/.test browser
	$(BIN)/python $(PYTEST) $(THREE_FILES) $(NBVAL) notebooks

test-all: .venv/.all-libraries browser linker json packages
	$(BIN)/python $(PYTEST) -m 'not gpu'
	$(BIN)/python $(PYTEST) $(NBVAL) notebooks
	@for world in $(WORLDS); do $(BIN)/python -m tests.worlds.without $$world || exit 1; done

# says in its first line what it will do here; without a GPU it fails with exit code 5: nothing ran
test-gpu: .venv/.test
	@$(BIN)/python -m tests.gpu

# every causal language model of transformers, tiny: goes on where an earlier run stopped (an hour on
# two cores), writes tests/wild/results.json; WILD=--anew repeats all
test-wild: .venv/.test
	$(BIN)/python -m tests.wild $(WILD)

# without the widgets' state, in which the front end is once more
notebooks: .venv/.test
	$(BIN)/jupyter nbconvert --to notebook --execute --inplace $(sort $(wildcard notebooks/*.ipynb)) \
		--ExecutePreprocessor.store_widget_state=False --ExecutePreprocessor.record_timing=False

# a site that is read without a network, by opening out/site/index.html; no notebook is run
docs: .venv/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --config-file docs/mkdocs.yml
	$(BIN)/python -m docs.generate.links out/site

.venv-newest/.test: pyproject.toml constraints.txt
	$(BARE) -m venv .venv-newest
	grep -v -E '^(torch|triton)==' constraints.txt > .venv-newest/constraints.txt
	$(NEWEST)/pip install --quiet --constraint .venv-newest/constraints.txt 'torch==2.15.*' --editable '.[lab,test]'
	touch $@

# the private names first: what a release changed explains what fails afterwards
test-newest: .venv-newest/.test browser linker packages
	$(NEWEST)/python $(PYTEST) tests/compiler/internals/test_torch_private.py
	$(NEWEST)/python $(PYTEST) -m 'not slow and not gpu'

# make test-versions PYTHON=3.12 TORCH=2.12 runs the suite in an environment of its own, writes a row
# of tests/versions/results.json and the table of docs/pages/about/limits.md; PART names the paths, without it all
test-versions: VERSION = $(if $(filter command,$(firstword $(origin PYTHON))),$(PYTHON),3.11)
test-versions: TORCH ?= 2.13
test-versions:
	@python3 -m tests.versions.environment '$(VERSION)' '$(TORCH)' '$(TORCH_INDEX)' $(PART)

# the private names that one release has, in an environment with nothing else: make snapshot-2.15
.venv-torch-%/.torch:
	$(BARE) -m venv .venv-torch-$*
	.venv-torch-$*/bin/pip install --quiet 'torch==$*.*' numpy
	touch $@

.PRECIOUS: .venv-torch-%/.torch
snapshot-%: .venv-torch-%/.torch
	.venv-torch-$*/bin/python -m tests.compiler.internals.snapshot

$(FRONTEND)/node_modules/.installed: $(FRONTEND)/package-lock.json
	sh $(FRONTEND)/install_node.sh
	cd $(FRONTEND) && npm ci --no-audit --no-fund --loglevel=error
	touch $@

frontend: $(FRONTEND)/node_modules/.installed
	cd $(FRONTEND) && npm run build

screenshots: .venv/.test browser
	$(BIN)/python -m tests.browser.screenshots out/screenshots

# the pictures of the README and the guide, of records; that of a sweep is measured: see the module
pictures: .venv/.test browser
	$(BIN)/python -m tests.browser.readme_pictures

# what runs on a GPU alone: here its types say whether each call is still there
HALVES := -p tests.gpu --explicit-package-bases --follow-imports=silent --allow-untyped-calls --no-warn-return-any

check: .venv/.test $(FRONTEND)/node_modules/.installed
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/mypy $(HALVES)
	cd $(FRONTEND) && npm run check

# writes tests/bench/bench.json and docs/pages/about/figures.md; waits for a quiet machine, ends with
# 1 when a figure misses its reach, after writing it
bench: .venv/.test browser
	$(BIN)/python -m tests.bench --record
