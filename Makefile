# Everything goes into .venv beside this file and into the cache folder of the weights.
# A file .venv/.done-* marks a step that need not be done again.

PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
# Some machines forbid Python to keep what it compiled: each process would compile all of core again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help setup run check test slow weights bench
.DEFAULT_GOAL := help

help:
	@echo 'make run      set up, fetch the first weights, start the app on http://127.0.0.1:8501'
	@echo 'make check    set up, then check the style and run the unit tests: a minute or two'
	@echo 'make test     the same with every test but the slow ones: pages, a browser, real weights'
	@echo 'make slow     the slow tests: real sweeps, large sizes, a journey of 8,192 tokens'
	@echo 'make setup    set up only'
	@echo 'make weights  fetch all weights that need no model hub (285 MB)'
	@echo 'make bench    measure what capturing, drawing maps, CLIP and the mechanisms cost'
	@echo 'PYTHON=python3.12 make run    choose the Python (3.11 or newer; python3 if not said)'

setup: $(VENV)/.done-app

run: $(VENV)/.done-first-weights
	@$(RUN) -m streamlit run app/server.py

check: $(VENV)/.done-tests
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	HF_HUB_OFFLINE=1 $(RUN) -m pytest -n 2 --dist loadfile -m unit

test: $(VENV)/.done-tests
	@if ! command -v chromium >/dev/null; then \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y chromium; \
		else \
			echo "No 'chromium' is on the PATH, so the browser tests are skipped: install it to run them." >&2; \
		fi; \
	fi
	$(RUN) -m core weights
	$(RUN) -m ruff check .
	$(RUN) -m ruff format --check .
	HF_HUB_OFFLINE=1 $(RUN) -m pytest -n 2 --dist loadfile -m "not slow"

slow: $(VENV)/.done-tests
	$(RUN) -m core weights
	HF_HUB_OFFLINE=1 $(RUN) -m pytest -m slow

weights: $(VENV)/.done-app
	$(RUN) -m core weights

bench: $(VENV)/.done-bench
	-$(RUN) -m core bench capture
	-$(RUN) -m core bench clip
	-$(RUN) -m core bench attention

$(VENV)/.done-venv:
	@command -v $(PYTHON) >/dev/null || \
		{ echo "Python 3.11 or newer is wanted; '$(PYTHON)' is not on this machine." >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is wanted; '$(PYTHON)' is $$($(PYTHON) --version 2>&1). Name another: PYTHON=python3.12 make ..." >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
		{ echo "Python's venv is wanted; '$(PYTHON)' came without it (on Debian: apt-get install python3-venv)." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.done-app: requirements.txt $(VENV)/.done-venv
	$(RUN) -m pip install -r requirements.txt
	@touch $@

$(VENV)/.done-tests: requirements-dev.txt $(VENV)/.done-app
	$(RUN) -m pip install -r requirements-dev.txt
	@touch $@

$(VENV)/.done-bench: requirements-bench.txt $(VENV)/.done-app
	$(RUN) -m pip install -r requirements-bench.txt
	@touch $@

# Marked by a file because asking `core` takes seconds; the app fetches what is missing all the same.
$(VENV)/.done-first-weights: core/models/files/sources.py $(VENV)/.done-app
	$(RUN) -m core weights minilm focus-vit lite0
	@touch $@
