# Two commands for a new checkout: `make demo` and `make test`. Needs Python 3.11+, Java 17+, nothing else.
PYTHON ?= python3
UV_VERSION := 0.13.9
BIN := .venv/bin
UV := .tools/bin/uv
export UV_NO_PROGRESS := 1

# Locks are made from pyproject.toml; each larger one is constrained by the smaller.
LOCK := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate
PERF_GROUPS := --group perf

.PHONY: help java check test test-all rck demo serve lint types layers lock lock-check proto env env-spark env-spark35 env-s3 sim sim-long sim-mutants perf clean

help: ## what there is to call
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

$(UV):
	$(PYTHON) -m venv .tools
	.tools/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

$(BIN)/.check: requirements/check.lock pyproject.toml | $(UV)
	@test -x $(BIN)/python || $(UV) venv --quiet --python $(PYTHON) .venv
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements/check.lock
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --editable .
	@touch $@

$(BIN)/.spark: requirements/spark.lock $(BIN)/.check
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements/spark.lock
	@touch $@

.venv-spark35/bin/.spark35: requirements/spark35.lock | $(UV)
	@test -x .venv-spark35/bin/python || $(UV) venv --quiet --python $(PYTHON) .venv-spark35
	$(UV) pip install --quiet --python .venv-spark35/bin/python --require-hashes -r requirements/spark35.lock
	@touch $@

.venv-s3/bin/.s3: requirements/s3.lock | $(UV)
	@test -x .venv-s3/bin/python || $(UV) venv --quiet --python $(PYTHON) .venv-s3
	$(UV) pip install --quiet --python .venv-s3/bin/python --require-hashes -r requirements/s3.lock
	@touch $@

env: $(BIN)/.check ## the virtual environment without Spark
env-spark: $(BIN)/.spark ## the same with PySpark
env-spark35: .venv-spark35/bin/.spark35 ## the older line of Spark that the tests use, in an environment of its own
env-s3: .venv-s3/bin/.s3 ## the S3 server of the tests, in an environment of its own (it wants another botocore)

lock: | $(UV) ## write the lock files anew
	$(LOCK) pyproject.toml -o requirements/server.lock
	$(LOCK) pyproject.toml --group test $(PERF_GROUPS) -c requirements/server.lock -o requirements/check.lock
	$(LOCK) pyproject.toml --group test --group spark $(PERF_GROUPS) -c requirements/check.lock -o requirements/spark.lock
	$(LOCK) --group s3 -o requirements/s3.lock
	$(LOCK) --group spark35 -o requirements/spark35.lock

proto: $(BIN)/.check ## generate catalog_format/pb from proto/
	$(BIN)/python -m grpc_tools.protoc -Iproto --python_out=. --pyi_out=. $$(cd proto && find catalog_format -name "*.proto")

lock-check: | $(UV)
	@for name in server check spark spark35 s3; do cp requirements/$$name.lock .tools/$$name.before; done
	@$(MAKE) --no-print-directory --silent lock
	@for name in server check spark spark35 s3; do \
	  cmp -s requirements/$$name.lock .tools/$$name.before || { echo "requirements/$$name.lock is not current: commit what 'make lock' wrote"; exit 1; }; \
	done

lint: env
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .

types: env
	$(BIN)/mypy

layers: env
	$(BIN)/lint-imports --no-cache

PYTEST := $(BIN)/python -m pytest

check: env lint types layers lock-check ## what needs no Java, in under three minutes
	$(PYTEST) -q -m "not spark and not s3 and not processes and not long"

java:
	@$(PYTHON) -c 'import re, shutil, subprocess, sys; \
	path = shutil.which("java"); \
	text = subprocess.run([path, "-version"], capture_output=True, text=True).stderr if path else ""; \
	found = re.search(r"version \"(\d+)", text); \
	sys.exit(0 if found and int(found[1]) >= 17 else "Java 17 or newer is needed: install it (Debian: apt install openjdk-17-jre-headless; macOS: brew install openjdk@17) and try again")'

# Iceberg's OpenAPI file is no part of this repository. Where it is at hand, its fuzz runs shortly with the other tests too.
SPECIFICATION := $(or $(ICEBERG_OPENAPI),../shared/spec/rest-catalog-open-api.yaml)

test: java check env-spark env-spark35 env-s3 ## everything but the long profiles, in under twenty minutes
	$(PYTEST) -q --durations=25 -m "(spark or s3 or processes) and not long"
ifneq ($(wildcard $(SPECIFICATION)),)
	FUZZ_EXAMPLES=10 $(PYTEST) -q tests/server/test_fuzz_specification.py
else
	@echo "Iceberg's OpenAPI file is not at $(SPECIFICATION), so the server was not fuzzed against it (docs/conformance.md says how)"
endif

test-all: test ## the long profiles too
	$(PYTEST) -q -m "long"

rck: java env-spark env-s3 ## Iceberg's REST Compatibility Kit: on a folder, inside a transaction, on S3
	$(PYTEST) -q tests/integration/rck

sim: env ## one run of the simulator with its trace, shrunk if it fails: make sim SEED=7
	$(BIN)/python -m tests.simulation seed $(SEED)

sim-mutants: env ## which seeds kill the simulator's mutants
	$(BIN)/python -m tests.simulation mutants $(SIM)

sim-long: env ## a million operations over ten thousand seeds, on two processes
	$(BIN)/python -m tests.simulation long $(SIM)

perf: java env env-spark env-s3 ## measure, and write perf/RESULTS.md (half an hour, alone on the machine)
	$(BIN)/python -m perf $(PERF)

demo: java env-spark ## the pipeline on Spark, against a server on a local folder
	$(BIN)/python -m pipeline.demo $(DEMO)

serve: env ## a server on a local folder
	$(BIN)/treeline serve --root build/warehouse

clean: ## remove environments and what was built
	rm -rf .venv .venv-spark35 .venv-s3 .tools .jars build
