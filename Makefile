# `make` lists the targets. Everything works from a fresh clone with Python >= 3.11, make and a C library.

VENV ?= .venv
# Looked up only when a virtual environment has to be made.
PYTHON ?= $(shell scripts/find-python)
ARGS ?=
TENANTS ?= 1000

python := $(VENV)/bin/python
installed := $(VENV)/.installed-lock.txt
peers := .venv-bench
installed_peers := $(peers)/.installed-lock.txt

# What the gates run with: no server, and settings as in production.
lint_env := DATABASE_URL=postgresql://lint@%2fnonexistent/lint DJANGO_DEBUG=false \
	DJANGO_SECRET_KEY=only-for-lint-0123456789-abcdefghijklmnopqrstuvwxyz-9876543210

.DEFAULT_GOAL := help
.PHONY: help install run check fmt test test-faults soak reset-test-env bench bench-admin bench-search bench-peers
.PHONY: lint lint-style lint-format lint-lock lint-architecture lint-types lint-migrations lint-deploy lint-reference
.PHONY: reference

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(installed) ## Make the virtual environment with the locked dependencies

# The lock is compared by content, so that a checkout which only touches it costs nothing.
$(installed): requirements/lock.txt
	@cmp -s $< $@ || scripts/install "$(VENV)" "$(PYTHON)"
	@cp $< $@

run: $(installed) ## Set everything up and run web and worker until Ctrl-C (PORT, DATABASE_URL: see docs/reference)
	@$(python) -m scripts.run

check: ## All that CI does: set-up, a clean test environment, lint, all tests
	@$(MAKE) --no-print-directory install
	@$(MAKE) --no-print-directory reset-test-env
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory test

lint: lint-style lint-format lint-lock lint-architecture lint-types lint-migrations lint-deploy lint-reference ## All gates: style, types, architecture, ...

lint-style: $(installed)
	@$(python) -m ruff check --quiet --output-format concise .

lint-format: $(installed)
	@$(python) -m ruff format --quiet --check --output-format concise .

lint-lock: $(installed)
	@$(python) -m scripts.lock_in_step

lint-architecture: $(installed)
	@$(python) -m scripts.architecture

lint-types: $(installed)
	@$(python) -m mypy --no-error-summary --show-column-numbers

lint-migrations: $(installed)
	@$(lint_env) $(python) -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run

lint-deploy: $(installed)
	@$(lint_env) $(python) manage.py check --deploy --fail-level WARNING

lint-reference: $(installed)
	@$(python) -m scripts.reference --check

reference: $(installed) ## Write docs/reference/queue.md anew, from the docstrings
	@$(python) -m scripts.reference

fmt: $(installed) ## Rewrite the code in the house's style
	@$(python) -m ruff check --quiet --fix-only .
	@$(python) -m ruff format .

test: $(installed) ## Run the tests (ARGS="tests/house -k tokens"), on an embedded PostgreSQL if DATABASE_URL is unset
	@$(python) -m scripts.run_tests $(ARGS)

test-faults: $(installed) ## Break everything beneath the queue, the long form: some minutes
	@$(python) -m scripts.run_tests tests/faults tests/jobqueue/test_model_of_states.py -m "" -p tests.faults.report $(ARGS)

soak: $(installed) ## Random faults against working workers for SOAK_MINUTES (default 10), then a verdict (SOAK_SEED)
	@$(python) -m tests.faults.soak

reset-test-env: $(installed) ## End what an aborted test run left behind, drop and rebuild the test databases
	@VENV="$(VENV)" scripts/reset-test-env

bench: $(installed) ## Measure the queue beside its goals (ARGS="--quick --only drain"; --help lists all)
	@$(python) -m scripts.bench $(ARGS)

bench-search: $(installed) ## Measure the search over 100,000 documents beside its goal (ARGS="--documents 10000")
	@$(python) -m scripts.bench_search $(ARGS)

bench-admin: $(installed) ## Measure each page of the admin on 1,000,000 jobs beside its goal (ARGS="--tenants 1000")
	@$(python) -m scripts.bench_admin $(ARGS)

bench-tenants: $(installed) ## Measure one fleet with many tenants (TENANTS=1000; ARGS="--only idle,latency")
	@$(python) -m scripts.bench.tenants --tenants $(TENANTS) $(ARGS)

bench-peers: $(installed_peers) ## Install the queues that `make bench` compares with, into an environment of their own

# Some of them need Python 3.12, which needn't be what runs everything else; two come as source, one of them in C.
$(installed_peers): requirements/bench-peers.txt
	@cmp -s $< $@ || scripts/install $(peers) "$$(scripts/find-python 3.13 2>/dev/null || scripts/find-python)" $< \
		--no-binary crontab,erlpack
	@cp $< $@
