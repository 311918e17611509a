# Two commands do all the set-up: `make run` and `make test`.
.DEFAULT_GOAL := help
SHELL := /bin/sh
PYTHON ?= python3
VENV ?= .venv
PORT ?= 8000
HOST ?= 127.0.0.1
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
WORKERS ?= 2

export ONCALL_PROFILE ?= local

.PHONY: help install run test test-all pictures services test-services services-stop check fmt lock

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 or newer is needed; $(PYTHON) was not found. Name another: make run PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) -V 2>&1). Name another: make run PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "This Python has no venv. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.requirements: requirements.txt | $(BIN)/python
	@echo "Installing packages into $(VENV) …"
	@$(PIP) -r requirements.txt
	@touch $@

$(VENV)/.requirements-dev: requirements-dev.txt $(VENV)/.requirements
	@echo "Installing the tools of checks and tests …"
	@$(PIP) -r requirements-dev.txt
	@touch $@

install: $(VENV)/.requirements-dev ## Make .venv with everything, tools included

run: $(VENV)/.requirements ## Run it all locally with example data: make run PORT=8000
	@$(BIN)/python manage.py serve --host $(HOST) --port $(PORT)

test: $(VENV)/.requirements-dev ## Run the tests but the thorough ones: make test ARGS="-k intake"
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile -m "not thorough" $(ARGS)

test-all: $(VENV)/.requirements-dev ## Run every test, those too that go through every page
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

pictures: $(VENV)/.requirements-dev ## Make the README's pictures anew from the example data
	@$(BIN)/python -m pytest tests/browser/pictures.py

services: $(VENV)/.requirements-dev ## Start PostgreSQL, Redis and a real Hindsight for tests (Linux, redis-server)
	@$(BIN)/python -m tests.real_services start >/dev/null
	@echo "They run. Test on them: make test-services. End them: make services-stop"

test-services: $(VENV)/.requirements-dev ## Run all tests on the services that "make services" started
	@settings=$$($(BIN)/python -m tests.real_services settings) && eval "$$settings" && \
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile $(ARGS)

services-stop: $(VENV)/.requirements-dev ## End the services of the tests
	@$(BIN)/python -m tests.real_services stop

check: $(VENV)/.requirements-dev ## Lint, format, types, imports, migrations, deployment
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	git ls-files -z -- '*.html' | xargs -0 $(BIN)/djade --check --target-version 5.2
	$(BIN)/mypy .
	$(BIN)/lint-imports
	$(BIN)/python manage.py makemigrations --check --dry-run
	ONCALL_PROFILE=production ONCALL_SECRET_KEY=$$($(BIN)/python -c 'import secrets; print(secrets.token_urlsafe(64))') \
	ONCALL_ALLOWED_HOSTS=copilot.example.com DATABASE_URL=postgres://u:p@localhost/oncall REDIS_URL=redis://localhost \
	ONCALL_LLM=offline ONCALL_MEMORY=embedded $(BIN)/python manage.py check --deploy --fail-level WARNING
	$(BIN)/python -m pip check

fmt: $(VENV)/.requirements-dev ## Put the format right
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	git ls-files -z -- '*.html' | xargs -0 $(BIN)/djade --target-version 5.2

lock: $(VENV)/.requirements-dev ## Compile requirements*.in into the pinned files
	$(BIN)/pip-compile --quiet --strip-extras --no-annotate --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host -o requirements.txt requirements.in
	$(BIN)/pip-compile --quiet --strip-extras --allow-unsafe --no-annotate --no-header --no-emit-index-url --no-emit-find-links --no-emit-trusted-host -o requirements-dev.txt requirements-dev.in
