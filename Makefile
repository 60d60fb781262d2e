# Everything a person or a build server does here. `make` alone lists the targets.

.DEFAULT_GOAL := help
.PHONY: help run install deb setup build-setup check fmt clippy doc deny unused-deps typos infra \
        test tests doc-tests size test-all sim sim-faults audit bench-table bench-table-long bench-table-expiry bench-edge bench-limiter bench-keeper bench-reviews bench-practice bench-console clean
# Steps run in the order they are listed, also under `make -j`: cargo uses all cores by itself.
.NOTPARALLEL:

SHELL := /bin/bash
STEP := scripts/step.sh
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Tools that scripts/setup.sh installed come before the machine's.
export PATH := $(CURDIR)/.tools/bin:$(PATH)

# The servers are shared by all tests of a run, because starting them takes seconds.
# The test build makes this program; `cargo run` would compile its dependencies once more.
WITH_SERVERS := $(TARGET)/debug/with-servers
SKIPS := scripts/skips.sh $(TARGET)/skips.txt

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 }' Makefile

run: build-setup ## Build the server and start it on the embedded store (ARGS="--listen 127.0.0.1:9000" adds flags)
	@$(STEP) "build" cargo build --release --package weir
	$(TARGET)/release/weir serve $(ARGS)

install: build-setup ## Build `weir` and put it into ~/.cargo/bin, which rustup has put on the PATH
	@$(STEP) "install" cargo install --path crates/weir --locked

deb: build-setup ## Make a Debian package of the release binary, with its systemd unit
	@$(STEP) "cargo-deb" scripts/setup.sh deb
	@$(STEP) "build" cargo build --release --package weir
	@$(STEP) "package" cargo deb --package weir --no-build --no-strip --locked

setup: ## Install what the tests need (quick when it is there)
	@$(STEP) "setup" scripts/setup.sh

build-setup:
	@scripts/setup.sh build

check: fmt clippy doc deny unused-deps typos infra ## Check format, lints, docs, dependencies, spelling and infra/

fmt: ## Check the format (`cargo fmt` repairs it)
	@$(STEP) "format" cargo fmt --all --check

clippy: ## Lint all code with warnings denied
	@$(STEP) "clippy" cargo clippy --workspace --all-targets --locked -- -D warnings

doc: ## Build the documentation with warnings denied
	@RUSTDOCFLAGS="-D warnings" $(STEP) "documentation" \
		cargo doc --workspace --no-deps --document-private-items --locked

deny: ## Check licences, sources and bans of all dependencies
	@$(STEP) "dependencies: bans, licences, sources" cargo deny --locked check --hide-inclusion-graph bans licenses sources

unused-deps: ## Look for dependencies that no code uses
	@$(STEP) "dependencies: unused" cargo machete --with-metadata

typos: ## Look for spelling mistakes
	@$(STEP) "spelling" typos

infra: ## Check the files in infra/: image, systemd, CloudFormation, Terraform, alerts
	@$(STEP) "infra" scripts/infra.sh

test: setup check doc-tests tests size ## Install what is missing, run all checks and every test, and check the binary's size

tests: ## Run the tests only (ARGS="-E 'test(name)'" selects some)
	@$(STEP) "build of the tests" cargo nextest run --workspace --locked --no-run
	@$(STEP) "tests" $(SKIPS) $(WITH_SERVERS) cargo nextest run --workspace --locked $(ARGS)

size: build-setup ## Build the release binary and check that it has less than 40 MiB
	@$(STEP) "build" cargo build --release --locked --package weir
	@$(STEP) "size of the binary" scripts/check-size.sh $(TARGET)/release/weir

doc-tests: ## Run the examples in the documentation
	@$(STEP) "examples in the documentation" cargo test --workspace --locked --doc

# Optimised, with the assertions of a debug build: unoptimised, recording 1 000 reviews takes longer than 15 minutes.
test-all: WITH_SERVERS := $(TARGET)/full/with-servers
test-all: setup ## Run the tests at full length (hours): more rounds, more data, no time limits
	@$(STEP) "build of the tests" cargo nextest run --workspace --locked --cargo-profile full --no-run
	@WEIR_TEST_ALL=1 $(STEP) "tests at full length" \
		$(SKIPS) $(WITH_SERVERS) cargo nextest run --workspace --locked --cargo-profile full --profile all $(ARGS)

sim: build-setup ## Simulate instances, clocks and faults from a seed (SEED=7 STEPS=10000, ARGS="--seeds 100")
	@$(STEP) "build" cargo build --release --package weir-sim
	$(TARGET)/release/weir-sim --seed $(or $(SEED),1) --steps $(or $(STEPS),10000) $(ARGS)

sim-faults: build-setup ## Inject known faults into the simulation, and print which seed and step finds each
	@$(STEP) "build" cargo build --release --package weir-sim
	$(TARGET)/release/weir-sim --faults --seeds 100 --steps $(or $(STEPS),2000) $(ARGS)

audit: setup ## Look dependencies up in the RustSec advisories (needs access to GitHub)
	@$(STEP) "dependencies: advisories" cargo deny --locked check advisories

bench-table: build-setup ## Compare the table store with dynoxide-rs
	@$(STEP) "table benchmark" cargo run --release --package weir-bench -- table $(ARGS)

bench-table-long: build-setup ## The same for ten minutes, with more data than cache
	@$(STEP) "long table benchmark" cargo run --release --package weir-bench -- table --minutes 10 $(ARGS)

bench-table-expiry: build-setup ## How fast a million expired items go beside 20 000 writes a second
	@$(STEP) "expiry benchmark" cargo run --release --package weir-bench -- table --expired 1000000 $(ARGS)

bench-edge: build-setup ## Compare the HTTP edge with a bare axum server (needs an idle machine)
	@$(STEP) "load generators" scripts/setup.sh bench
	@$(STEP) "build" cargo build --release --package weir
	@$(STEP) "edge benchmark" cargo run --release --package weir-bench -- edge $(ARGS)

bench-limiter: build-setup ## Compare the limiter with throttlecrab and Redis (needs an idle machine)
	@$(STEP) "load generators and peers" scripts/setup.sh bench
	@$(STEP) "build" cargo build --release --package weir
	@$(STEP) "limiter benchmark" cargo run --release --package weir-bench -- limiter $(ARGS)

bench-keeper: build-setup ## Measure submissions and model selections (needs an idle machine)
	@$(STEP) "load generators" scripts/setup.sh bench
	@$(STEP) "build" cargo build --release --package weir
	@$(STEP) "keeper benchmark" cargo run --release --package weir-bench -- keeper $(ARGS)

bench-reviews: build-setup ## Measure recordings, queries, rollups and comparisons of reviews (needs an idle machine)
	@$(STEP) "build" cargo build --release --package weir
	@$(STEP) "reviews benchmark" cargo run --release --package weir-bench -- reviews $(ARGS)

bench-practice: build-setup ## Measure practice at the rates and volumes of its source (needs an idle machine)
	@$(STEP) "build" cargo build --release --package weir
	@$(STEP) "practice benchmark" cargo run --release --package weir-bench -- practice $(ARGS)

bench-console: setup ## Measure how long the pages of the console take in a browser (ARGS="--orgs 50 --entities 2000 --reviews 500")
	@$(STEP) "build" cargo build --release --package weir
	@$(STEP) "console benchmark" node bench/console/main.mjs --weir $(TARGET)/release/weir $(ARGS)

clean: ## Remove what was built and installed in this folder
	cargo clean
	rm -rf .tools
