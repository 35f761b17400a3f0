# `make demo` and `make test` do their own set-up. WATCHFLOOR_HOME names the stack's folder (default .watchfloor).
BIN := .venv/bin
LOGS :=
FLAVOUR :=
SUITE := quick
TESTS :=

.PHONY: setup demo test test-cluster soak check chaos-fault screenshots page-speed lock sbom audit dist down clean

setup:
	@.ci/setup.sh

# FLAVOUR has flags of `watchfloor up`: make demo FLAVOUR="--security auth-conf"
demo: setup
	$(BIN)/watchfloor demo $(FLAVOUR) $(LOGS)

# SUITE=all runs most tests of `make soak` too, on the same stacks: what continuous integration has time for.
test: setup
	@tests/run.sh $(SUITE) $(TESTS)

# Tests that kill, stop and repeat for minutes.
soak: setup
	@tests/run.sh soak $(TESTS)

# A cluster on hosts that are network namespaces: links are cut and slowed down, and hosts killed. It needs root.
test-cluster: setup
	@tests/run.sh cluster -n 0 -s tests/cluster $(TESTS)

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy -p watchfloor
	@tests/run.sh quick $(TESTS)

# Pictures of the web page in the folder PICTURES, of every view in both themes and on a phone, or those that VIEWS
# names (event-dark); it needs Chromium. The picture of the documentation: make screenshots PICTURES=docs/using VIEWS=page
PICTURES := build/screenshots
VIEWS :=
screenshots: setup
	@PYTHONPATH=tests/support:tests/support/faces:tests/support/page $(BIN)/python -m screenshots $(PICTURES) $(VIEWS)

# Shows that chaos finds a fault: a copy of the project whose worker commits offsets before it flushes.
chaos-fault: setup
	@$(BIN)/python tests/support/chaos_fault.py

# How fast the page of a running service is, by REPEATS samples of each figure; it needs Chromium.
URL := http://127.0.0.1:8742
TOKEN := .watchfloor/secret/rest.token
SOURCE := proxy.events
REPEATS := 10
page-speed: setup
	@PYTHONPATH=tests/support:tests/support/page $(BIN)/python -m page_speed $(URL) $(TOKEN) $(SOURCE) $(REPEATS)

# Pins Python packages and Maven artifacts by hash; UPGRADE=--upgrade takes the newest versions of packages.
UPGRADE :=
lock:
	@UPGRADE="$(UPGRADE)" .ci/lock.sh

# A bill of materials: build/sbom-python.json, build/sbom-java.json.
sbom: setup
	@.ci/sbom.sh

# The wheel for other hosts: dist/watchfloor-….whl, with all jars and the web page.
dist: setup
	@deploy/dist.sh dist

# Known holes of what is pinned; exit status 3 where no data can be reached.
audit:
	@.ci/audit.sh

down:
	@if [ -x $(BIN)/watchfloor ]; then $(BIN)/watchfloor down; fi

clean: down
	rm -rf .venv store/java/target api/rest/static build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +
