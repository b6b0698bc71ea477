# What one does with hopflow's source. `make` alone runs the tests.
CARGO ?= cargo
PYTHON ?= python3
CHROMIUM ?= chromium
FIREFOX ?= firefox-esr

.DEFAULT_GOAL := test
.PHONY: test test-nightly test-rust test-python test-page python-env page-packages playground live-page site test-site wheel fuzz dist guided lint fmt docs bench ci

TARGET = $(or $(CARGO_TARGET_DIR),target)
# An environment with what tests and checks of the Python package need, and the package itself.
ENV = $(TARGET)/python-env
ENV_PYTHON = $(ENV)/bin/python

# The page with the simulator, and WebAssembly for it.
PAGE = site/playground
WASM = wasm32-unknown-unknown
# The site; where a page of reproductions was made, it is part of it.
SITE = site/pages
ATLAS ?= $(TARGET)/atlas
PACKAGES = $(PAGE)/node_modules/.package-lock.json $(SITE)/node_modules/.package-lock.json

test: test-rust test-python test-page test-site ## all tests

test-rust: ## tests of the crates
	$(CARGO) test --workspace --locked

# A thousand plans against a general solver, and 200 random networks; `make ci` does without.
test-nightly: ## tests that take minutes, on top of `make test`
	$(CARGO) test --package hopflow-mpc --test optimum --test closed_loop --locked -- --ignored

# Built like the crates' tests, so that it takes from those what it can; tested as installed.
test-python: python-env ## tests of the Python package, and its types
	rm -rf $(TARGET)/python-wheel
	$(ENV_PYTHON) -m maturin build --quiet --profile dev --strip \
		--interpreter $(ENV_PYTHON) --out $(TARGET)/python-wheel
	$(ENV_PYTHON) -m pip install --quiet --no-deps --no-index --force-reinstall $(TARGET)/python-wheel/*.whl
	$(ENV_PYTHON) -m mypy
	$(ENV_PYTHON) -m pytest --quiet --numprocesses 2 --dist loadfile

# Says that tests are left out; fails where HOPFLOW_REQUIRE asks for the browsers' tests.
skip = case ",$$(printf %s "$$HOPFLOW_REQUIRE" | tr -d ' ')," in \
	*,browser,*) echo "error: $(1). HOPFLOW_REQUIRE asks for browser" >&2; exit 1;; \
	*) echo "skipped: $(1)";; \
	esac

# In Chromium and Firefox, where they are.
test-page: ## tests of the playground and of `hopflow live` in browsers
	@if ! command -v npm >/dev/null || ! test -d "$$(rustc --print target-libdir --target $(WASM))"; then \
		$(call skip,the playground needs npm and rustup target add $(WASM)); \
	elif ! command -v $(CHROMIUM) >/dev/null; then \
		$(call skip,the tests of the playground need Chromium); \
	else \
		$(MAKE) --no-print-directory playground && \
		$(CARGO) build --quiet --locked --workspace --example hashes && \
		$(CARGO) build --quiet --locked --workspace --bin hopflow && \
		cd $(PAGE) && npm run --silent check && npm run --silent live -- --check && \
		export HASHES="$(abspath $(TARGET))/debug/examples/hashes" HOPFLOW="$(abspath $(TARGET))/debug/hopflow" && \
		BROWSER=chromium CHROMIUM="$$(command -v $(CHROMIUM))" npm run --silent test && \
		CHROMIUM="$$(command -v $(CHROMIUM))" npm run --silent test-live && \
		if command -v $(FIREFOX) >/dev/null; then \
			BROWSER=firefox FIREFOX="$$(command -v $(FIREFOX))" npm run --silent test; \
		else \
			$(call skip,no Firefox ($(FIREFOX)): the playground was tested in Chromium alone); \
		fi; \
	fi

test-site: ## the site is made, its links lead somewhere, and it works in a browser
	@if ! command -v npm >/dev/null || ! test -d "$$(rustc --print target-libdir --target $(WASM))"; then \
		$(call skip,the site needs npm and rustup target add $(WASM)); \
	elif ! command -v $(CHROMIUM) >/dev/null; then \
		$(call skip,the tests of the site need Chromium); \
	else \
		$(MAKE) --no-print-directory site && \
		cd $(PAGE) && CHROMIUM="$$(command -v $(CHROMIUM))" npm run --silent test-site; \
	fi

playground: page-packages ## the page that runs the simulator in a browser, in site/playground/build/page
	$(CARGO) build --release --locked --package hopflow-playground --target $(WASM)
	$(CARGO) run --quiet --release --locked --manifest-path tools/bindgen/Cargo.toml \
		--target-dir $(TARGET)/bindgen -- \
		$(TARGET)/$(WASM)/release/hopflow_playground.wasm $(PAGE)/build/pkg
	cd $(PAGE) && npm run --silent build

live-page: page-packages ## the page of `hopflow live`, in front/live/page, which is part of the program
	cd $(PAGE) && npm run --silent live

page-packages: $(PACKAGES)

%/node_modules/.package-lock.json: %/package-lock.json
	cd $* && npm ci --silent
	touch $@

site: playground docs ## guides, playground and API as one site, in site/pages/build; its links are checked
	rm -rf $(SITE)/build
	cd $(SITE) && SITE_ATLAS="$(wildcard $(ATLAS))" npm run --silent build
	cp -r $(PAGE)/build/page $(SITE)/build/playground
	cp -r $(TARGET)/doc $(SITE)/build/api
	if test -d $(ATLAS); then cp -r $(ATLAS) $(SITE)/build/atlas; fi
	$(PYTHON) tools/check-links.py $(SITE)/build --base "$${SITE_BASE:-/}" --only-to api

python-env: $(ENV)/ready

$(ENV)/ready: python/requirements-test.txt
	$(PYTHON) -m venv --clear $(ENV)
	$(ENV_PYTHON) -m pip install --quiet --disable-pip-version-check -r $<
	touch $@

wheel: python-env ## the Python package as users install it, in dist
	$(ENV_PYTHON) -m maturin build --interpreter $(ENV_PYTHON) --out dist

fuzz: ## changed inputs of every fuzz target from a new seed, for a minute each: docs/spec/wire.md
	HOPFLOW_FUZZ=60 HOPFLOW_FUZZ_SEED=$$(date +%s) \
		$(CARGO) test --workspace --locked --tests fuzzing -- --nocapture

dist: ## what a release consists of, in dist: docs/releasing.md
	packaging/dist

guided: ## the program for this machine, guided by a profile: 1.3 times as fast, after 10 minutes
	packaging/guided

lint: python-env ## format, clippy, ruff, the directions of dependencies and circles, changing nothing
	$(CARGO) fmt --all --check
	rustfmt --check --edition 2024 fuzz/fuzz_targets/*.rs tools/consensus/src/main.rs tools/bindgen/src/main.rs
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy --package hopflow --all-targets --locked -- -D warnings
	$(PYTHON) -m doctest tools/check-circles.py tools/check-crate-graph.py tools/check-links.py tools/check-bands.py tools/records.py tools/equal-arms.py tools/compare-with-tor.py tools/check-walks.py tools/check-sizes.py packaging/crates.py
	$(PYTHON) tools/check-crate-graph.py
	$(PYTHON) tools/check-circles.py
	$(PYTHON) tools/check-walks.py
	$(PYTHON) tools/check-sizes.py
	$(PYTHON) tools/check-bands.py
	$(PYTHON) tools/records.py check
	$(ENV_PYTHON) -m ruff format --quiet --check python
	$(ENV_PYTHON) -m ruff check --quiet python

fmt: python-env ## format all sources in place
	$(CARGO) fmt --all
	rustfmt --edition 2024 fuzz/fuzz_targets/*.rs tools/consensus/src/main.rs tools/bindgen/src/main.rs
	$(ENV_PYTHON) -m ruff format --quiet python

docs: ## the API documentation, in target/doc
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked

bench: ## all benchmarks
	$(CARGO) bench --workspace --locked

ci: ## everything that a change must pass
	.ci/run
