# Two commands on a fresh machine: `make demo` and `make test`. Both set up what they need in .venv.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test unit lint trees schema bench clean

$(BIN)/binpackgen: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

# compile an example profile into a tree; no server, no cluster
demo: $(BIN)/binpackgen
	$(BIN)/binpackgen build profiles/article.yaml
	@echo "open out/article/README.md"

$(VENV)/.dev: $(BIN)/binpackgen
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

# everything that is promised, with the real binaries (built from Go modules on first use)
test: $(VENV)/.dev lint
	BINPACKGEN_REQUIRE_TIERS=$${BINPACKGEN_REQUIRE_TIERS:-tools} $(BIN)/python -m pytest -n 2 --dist loadscope --ignore tests/e2e
	BINPACKGEN_REQUIRE_TIERS=$${BINPACKGEN_REQUIRE_TIERS:-tools} $(BIN)/python -m pytest tests/e2e

# the tests that need neither Go nor network
unit: $(VENV)/.dev
	BINPACKGEN_REQUIRE_TIERS= $(BIN)/python -m pytest -n 2 tests/unit tests/rules tests/cli tests/properties

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/binpackgen schema | diff - schemas/clusterprofile-v1alpha1.json
	$(BIN)/binpackgen build profiles/*.yaml --check

# rewrite what is generated and committed
trees: $(BIN)/binpackgen schema
	$(BIN)/binpackgen build profiles/*.yaml

schema: $(BIN)/binpackgen
	$(BIN)/binpackgen schema > schemas/clusterprofile-v1alpha1.json

bench: $(VENV)/.dev
	$(BIN)/python -m bench

clean:
	rm -rf $(VENV)
