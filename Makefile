# The commands of every day. They use .venv (see README.md); another place: make VENV=/path/to/venv lint
VENV ?= .venv
BIN = $(VENV)/bin
PYTHON = $(BIN)/python

.PHONY: help run test lint format bench bench-quick kept-js screenshots kept-doc

help:
	@echo "make run     the dashboard with the demo"
	@echo "make test    every test (browser and node tests where Chromium and Node.js are present)"
	@echo "make lint    formatting, rules, types, the import law, migrations"
	@echo "make format  put the formatting right"
	@echo "make bench   every figure of speed, load and size, written into bench/RESULTS.md (half an hour)"
	@echo "make bench-quick the same with small sizes, in under two minutes"
	@echo "make screenshots write the pictures in docs/images anew (Chromium)"
	@echo "make kept-js write the JavaScript sender's copy of the allow-list"
	@echo "make kept-doc write the allow-list's table in docs/wire.md"

run:
	$(PYTHON) manage.py demo

test:
	$(PYTHON) -m pytest -n auto

lint:
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	PYTHONPATH=. $(BIN)/lint-imports --no-cache
	$(PYTHON) manage.py check --fail-level WARNING
	$(PYTHON) manage.py makemigrations --check --dry-run

format:
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench:
	$(PYTHON) -m bench --write

bench-quick:
	$(PYTHON) -m bench --quick

kept-js:
	$(PYTHON) -m runs.rules.kept_js > static/js/footprint-kept.js.new
	mv static/js/footprint-kept.js.new static/js/footprint-kept.js

kept-doc:
	$(PYTHON) -m runs.rules.kept_doc < docs/wire.md > docs/wire.md.new
	mv docs/wire.md.new docs/wire.md

screenshots:
	$(PYTHON) -m tests.browser.screenshots
