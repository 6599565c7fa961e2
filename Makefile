.DEFAULT_GOAL := help
unexport PYTHONDONTWRITEBYTECODE # what one process has compiled the next ones need not
.PHONY: help setup dev demo test lint types contracts bench lock clean

help: ## these targets
	@grep -hE '^[a-z]+:.*## ' Makefile | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 12

setup: ## .venv with the command (PYTHON=python3.12 picks the interpreter)
	@.ci/setup.sh

dev: ## the same and the tools for working on it
	@.ci/setup.sh dev

demo: setup ## start the service, send it a bundled incident, print the answer
	@.venv/bin/traintriage demo

test: dev ## the default tests
	.venv/bin/pytest -n auto --dist worksteal

lint: dev ## style and format
	.venv/bin/ruff check --output-format concise .
	.venv/bin/ruff format --check --output-format concise .

types: dev ## mypy, strict
	.venv/bin/mypy engine api

contracts: dev ## who may import whom
	.venv/bin/lint-imports --no-cache

bench: dev ## rules, the service under load, and large files, against what there is elsewhere
	@test -x bench/.venv/bin/python || .venv/bin/python -m venv bench/.venv
	@bench/.venv/bin/pip install --quiet --no-deps --require-hashes -r bench/requirements.lock
	.venv/bin/python -m bench.engine
	.venv/bin/python -m bench.api
	.venv/bin/python -m bench.evidence
	.venv/bin/python -m bench.audit
	.venv/bin/python -m bench.planner

lock: ## resolve pyproject.toml anew into both lock files
	@test -x .venv/bin/uv || .ci/setup.sh dev
	.venv/bin/uv pip compile $(LOCK) --upgrade --group build -o requirements.lock
	.venv/bin/uv pip compile $(LOCK) --upgrade --group build --group dev -c requirements.lock -o requirements-dev.lock

LOCK := pyproject.toml --quiet --universal --python-version 3.11 --all-extras --generate-hashes --no-header

clean: ## remove .venv and everything that was made
	rm -rf .venv build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .schemathesis
	find engine api kb tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
