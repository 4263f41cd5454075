# Everything that is done with this repository. `make help` lists it.

SHELL := /bin/bash
.DEFAULT_GOAL := help

# What is built stays outside the checkout, so that a fresh clone is warm on a machine that has built before.
CACHE ?= $(HOME)/.cache/podium
export CARGO_TARGET_DIR ?= $(CACHE)/target
export PODIUM_TOOLS ?= $(CACHE)/tools
HOST := $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
BIN := $(CARGO_TARGET_DIR)/$(HOST)/release/podium
CARGO ?= cargo

# Differences that the comparison may find (of 40 000 probes and 980 chart runs): none.
KNOWN_DIFFERENCES := 0

.PHONY: help build test tools test-real bench soak fuzz fmt lint docs crds kinds roles layout up

help: ## list what can be done
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# One program that needs nothing of the machine.
STATIC = RUSTFLAGS="-C target-feature=+crt-static" $(CARGO) build --release --locked -p podium --target $(HOST)

build: ## build the static release binary (about 2 min cold)
	$(STATIC)
	@ls -lh $(BIN) | awk '{print "built", $$9, "("$$5")"}'

test: ## run all tests that need nothing but Rust, stories and fault plans on our own API server among them (under 10 min cold)
	$(CARGO) test --locked --workspace

tools: ## build the pinned upstream programs that are missing (helm 3 and 4, probes, Kubernetes and its clients; needs Go and Python; about 18 min cold)
	@tools/build.sh

test-real: tools ## compare with upstream programs (under 15 min when they are built; prints where its time goes)
	$(CARGO) test --locked --workspace --no-run
	$(CARGO) build --locked --workspace --bins
	@CARGO="$(CARGO)" KNOWN_DIFFERENCES=$(KNOWN_DIFFERENCES) tests/real.sh $(SUITES)

# Each prints its rows, met or missed; a missed one does not keep the others from being measured.
BENCHES = "bench --podium $(BIN)" "bench-operator --podium $(BIN)" bench-api bench-images "bench-catalog --podium $(BIN)"

bench: tools build ## measure against upstream programs and print ratios (about 25 min)
	$(CARGO) build --profile fast --locked -p podium-rig
	@export PODIUM_BIN=$(BIN); missed=0; for bench in $(BENCHES); do \
		echo "== $$bench"; $(CARGO_TARGET_DIR)/fast/$$bench || missed=1; done; exit $$missed

soak: tools fuzz ## compare and fuzz for hours
	$(CARGO) build --profile fast --locked -p podium -p podium-rig
	PODIUM_STORIES=500 $(CARGO) test --profile fast --locked -p podium-rig --test stories -- --ignored --nocapture
	$(CARGO_TARGET_DIR)/fast/compare --podium $(CARGO_TARGET_DIR)/fast/podium --cases 2000000
	PODIUM_CASES=20000 $(CARGO) test --profile fast --locked -p podium-fieldmanager --test originals -- --ignored --skip record --nocapture
	PODIUM_CASES=40000 $(CARGO) test --profile fast --locked -p podium-catalog --test originals -- --ignored --skip record --nocapture
	PODIUM_CASES=30000 $(CARGO) test --profile fast --locked -p podium-bundle --test originals -- --ignored --skip record --nocapture
	PODIUM_SERVER=kubernetes PODIUM_SOAK=500 $(CARGO) test --profile fast --locked -p podium-rig --test faults -- --nocapture
	PODIUM_KILLS=1000 $(CARGO) test --profile fast --locked -p podium --test durability -- --nocapture
	PODIUM_SERVER=kubernetes PODIUM_FUZZ_SECONDS=3600 $(CARGO) test --profile fast --locked -p podium-rig --test fuzz_resources -- --nocapture

fuzz: ## fuzz every parser for ten minutes each (installs a nightly toolchain and cargo-fuzz if they are missing)
	@fuzz/run.sh

fmt: ## format the code
	$(CARGO) fmt --all

lint: ## check format, lints and that the generated reference is current
	$(CARGO) fmt --all -- --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) build --locked --workspace --bin podium
	$(CARGO_TARGET_DIR)/debug/podium reference --check docs/reference/commands.md

docs: ## generate the reference of all commands from their flags
	$(CARGO) build --locked --workspace --bin podium
	$(CARGO_TARGET_DIR)/debug/podium reference docs/reference/commands.md

crds: ## generate the CRDs of the stacks from the schemas of their charts
	$(CARGO) build --locked -q --workspace --bin podium
	stacks/crds.sh $(CARGO_TARGET_DIR)/debug/podium

kinds: tools ## generate the table of the built-in kinds from a real API server
	$(CARGO) run --locked -q -p podium-rig --bin kinds -- crates/kubernetes/resources/kinds.txt
	$(PODIUM_TOOLS)/kinds inner > crates/kubernetes/resources/inner.txt

roles: tools ## generate the bootstrap roles from a real API server
	$(CARGO) run --locked -q -p podium-rig --bin roles -- crates/kubernetes/rbac/roles.txt

layout: ## record the order of functions in the binary (about 8 min)
	PODIUM_LAYOUT=record $(STATIC)
	tools/layout.sh $(BIN) crates/podium/layout.txt
	$(MAKE) build

up: build ## build podium, start the local cluster and an inference stack in it
	@examples/first-minute.sh $(BIN)
