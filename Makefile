# What one does with hopflow's source. `make` alone runs the tests.
CARGO ?= cargo
PYTHON ?= python3

.DEFAULT_GOAL := test
.PHONY: test lint fmt docs bench ci

test: ## all tests
	$(CARGO) test --workspace --locked

lint: ## format, clippy and the directions of dependencies, changing nothing
	$(CARGO) fmt --all --check
	rustfmt --check --edition 2024 fuzz/fuzz_targets/*.rs
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(PYTHON) -m doctest tools/check-crate-graph.py tools/compare-with-tor.py
	$(PYTHON) tools/check-crate-graph.py

fmt: ## format all sources in place
	$(CARGO) fmt --all
	rustfmt --edition 2024 fuzz/fuzz_targets/*.rs

docs: ## the API documentation, in target/doc
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

bench: ## all benchmarks
	$(CARGO) bench --workspace --locked

ci: ## everything that a change must pass
	.ci/run
