# SPDX-License-Identifier: GPL-2.0-only
#
# make help says what there is. Where cargo builds is cargo's business: CARGO_TARGET_DIR, .cargo/config.toml.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c

IDLEWISE  := cargo run --quiet --release --locked -p idlewise-cli --
RECORDING := tests/data/mixed.dat
GOVERNORS := menu,menu-6.1,teo,teo-6.1,teo-util,shallow,oracle
KERNEL    := aarch64-linux-gnu-gcc dtc bison flex bc sparse
BESIDE    := linux/menu,linux/teo,linux/ladder,menu,menu-6.1,teo,teo-6.6,teo-6.1,teo-5.6,teo-util,teo-util-v1
BESIDE    := $(BESIDE),teo-fixed,teo-weighted,ladder,haltpoll,shallow,deepest,eco
STARTS    ?= 5
OTHERS    := menu,teo,teo-6.1,teo-fixed,oracle

# For idlewise --version --verbose.
# Not that of a repository around a tarball.
export IDLEWISE_COMMIT ?= $(shell [ ! -e .git ] || git describe --always --dirty --abbrev=12 2>/dev/null)
# Where make install puts things; a packager sets DESTDIR.
export PREFIX  ?= /usr/local
export DESTDIR ?=
BUILT ?= $(or $(CARGO_TARGET_DIR),target)/release/idlewise

.PHONY: build install uninstall package wheel sdist notebooks site demo test thorough boot lab beside guests corpus kills cluster bench reproduce reproduce-fit fuzz browser prometheus help
.DEFAULT_GOAL := build

build: ## the idlewise command, optimised (default)
	@tools/need.sh cargo cc
	cargo build --release --locked -p idlewise-cli
	@! command -v python3 >/dev/null || python3 tools/third-party.py "$$(rustc -vV | sed -n 's/^host: //p')" \
		$(dir $(BUILT))copyright $(dir $(BUILT))third-party-notices.txt

install: ## what make built: command, manual pages, completions, documentation, below $(DESTDIR)$(PREFIX)
	@tools/install.sh install $(BUILT)

uninstall: ## removes what make install put there
	@tools/install.sh uninstall

package: ## a Debian package and archives for x86_64 and aarch64 into target/package; tried in a fresh root (10 minutes)
	@tools/need.sh cargo cc python3 dpkg-deb lintian debootstrap aarch64-linux-gnu-gcc qemu-aarch64-static
	tools/package.sh

wheel: ## the Python package as a wheel into target/wheels, tried in an empty environment
	@tools/need.sh cargo cc python3
	@tools/wheel.sh target/wheels

sdist: ## the sources of the Python package alone into target/wheels, for pip and maturin; tried in an empty environment (5 minutes)
	@tools/need.sh cargo cc python3
	rm -f target/wheels/idlewise-*.tar.gz
	python3 tools/sdist.py target/wheels
	@rm -rf target/sdist && python3 -m venv target/sdist
	target/sdist/bin/pip install -q --disable-pip-version-check target/wheels/idlewise-*.tar.gz
	cd target/sdist && bin/python -c 'import idlewise; print(idlewise.replay("$(CURDIR)/$(RECORDING)", platform="pixel6"))'

notebooks: ## the wheel in an empty environment, and in it the first notebook: what a new user does, timed
	@[ -n "$$(ls target/wheels/idlewise-*.whl 2>/dev/null)" ] || $(MAKE) wheel
	@tools/notebooks.sh target/wheels

site: ## the documentation as a site in target/site; warnings and dead links are errors
	tools/site.sh target/site

demo: build ## six seconds recorded on a virtual machine, replayed as if a phone and a server had run them
	@echo
	@echo "A recording of a KVM guest ($(RECORDING): frames, requests, disk reads, timers) goes through every"
	@echo "governor, first with the idle states of a phone, then with those of a server. Its own two states, polling"
	@echo "and HLT, would leave nothing to decide. Nothing is measured here: wakes are as recorded, states as declared."
	@for platform in pixel6 skylake-sp; do \
		echo; \
		echo "\$$ idlewise replay $(RECORDING) --platform $$platform --governor $(GOVERNORS)"; \
		$(IDLEWISE) replay $(RECORDING) --platform $$platform --governor $(GOVERNORS); \
	done
	@echo
	@rm -f target/demo.html
	@$(IDLEWISE) replay $(RECORDING) --platform pixel6 --governor $(GOVERNORS) --report target/demo.html >/dev/null
	@echo "The first of them as a page with charts, for a browser: target/demo.html"
	@echo
	@echo "And why? One decision of the phone's, 30 ms into the recording: a timer comes in 9.8 ms, teo-util stays shallow."
	@echo
	@echo "\$$ idlewise explain $(RECORDING) --platform pixel6 --governor teo-util --after 0.03 --others $(OTHERS)"
	@$(IDLEWISE) explain $(RECORDING) --platform pixel6 --governor teo-util --after 0.03 --others $(OTHERS)

test: ## format, lints, all tests; the last line counts them (LINT=no leaves out format and lints, and says so)
	@tools/need.sh cargo cc python3 trace-cmd perf babeltrace2 cyclictest $(KERNEL)
	@LINT=$(LINT) tools/test.sh

thorough: ## make test, with every case that its tests know and not only those that it has time for
	@IDLEWISE_THOROUGH=yes $(MAKE) --no-print-directory test

boot: build ## a kernel with the governors in it: built, booted on two machines under three loads, checked (15 minutes)
	@tools/need.sh cargo cc $(KERNEL) perl xz
	$(IDLEWISE) boot matrix --platform pixel6,rk3399 --workload timer,frames,cyclictest \
		--governor linux/menu,teo-6.1,teo-util,eco --seconds 3 --to target/lab-runs
	$(IDLEWISE) boot self-test --platform pixel6,rk3399 --workload timer --governor teo-util,eco --seconds 2

# Its name until it was the command's.
lab: boot

beside: build ## the simulator against real programs in booted kernels: 5 loads, 2 machines, STARTS starts of each governor of BESIDE (some hours; it goes on where it stopped)
	@tools/need.sh cargo cc $(KERNEL) perl xz
	@for file in docs/guide/example/beside/*.json; do \
		load=$$(basename $$file .json); \
		workload="rt-app --rt-app-file $$file"; \
		[ $$load != reads ] || workload=fio; \
		platforms="rk3399 pixel6"; \
		[ $$load != reads ] || platforms="$$platforms juno hikey960 imx8mm"; \
		for platform in $$platforms; do \
			$(IDLEWISE) boot run --workload $$workload --platform $$platform --governor $(BESIDE) \
				--without-true-inputs --seconds 6 --settle 130 --starts $(STARTS) \
				--to target/beside/$$load >&2; \
			echo; echo "$$load on $$platform"; \
			recorded=target/beside/$$load/$$platform-synth-$${workload%% *}; \
			tree=$$(sed -n 's,^governor = "\(/.*\)/drivers/cpuidle/governors/.*\.c"$$,\1,p' \
				$$recorded/start-1/*/trace.toml | head -n 1); \
			$(IDLEWISE) simulate $$file --cpufreq performance $${tree:+--kernel-tree "$$tree"} \
				--beside $$recorded/start-*/*/trace | sed -n '/^ simulated minus real/,$$p'; \
		done; \
	done

guests: build ## records Debian's kernels 5.10, 6.1, 6.12 and 7.3 in guests under ten loads, and judges the recordings (root; an hour; goes on where it stopped)
	tools/guests.sh $(BUILT) target/guests
	python3 tools/guests.py $(BUILT) target/guests

corpus: build ## the tapes of corpus/ made anew in target/corpus: simulated, booted, of kept recordings; says what differs (15 minutes)
	@tools/need.sh cargo cc $(KERNEL) perl xz
	rm -rf target/corpus
	tools/corpus.sh $(BUILT) target/corpus
	@diff -q -r corpus target/corpus && echo "target/corpus is corpus, byte for byte"

browser: ## the report page in Chromium: numbers, keyboard, phone, dark, print; pictures in target/browser
	@tools/need.sh cargo cc npm chromium
	cd web && npm ci --ignore-scripts
	IDLEWISE_PAGES=$(CURDIR)/target/browser/pages cargo test --locked -p idlewise-chart --test chart -- pages::
	cd web && node tests/browser.mjs ../target/browser/pages ../target/browser
	IDLEWISE_REPORTS=$(CURDIR)/target/browser/reports cargo test --workspace --locked --test cli -- \
		reports::a_page_holds
	cd web && node tests/browser.mjs ../target/browser/reports ../target/browser

prometheus: build ## Prometheus and node_exporter scrape a made-up machine and this one: rules and dashboard have data, and the right values
	@tools/need.sh cargo cc python3
	@tools/prometheus.sh target/prometheus
	python3 tools/prometheus-test.py target/prometheus $(BUILT)

kills: ## SIGKILL to sessions that switch this machine's governors, KILLS times, 220 unless told, and to advice; needs root
	@tools/need.sh cargo cc
	IDLEWISE_KILLS=$(or $(KILLS),220) cargo test --workspace --locked --test cli killed:: -- --nocapture

cluster: ## sweeps on a Dask cluster: workers killed, the scheduler restarted, a full disk, a storage, TLS (some minutes; root for the disk)
	@tools/need.sh cargo cc python3
	cargo build --workspace --locked --lib --bins
	@[ -n "$${IDLEWISE_PYTHON_FRAMES-}" ] || tools/python-frames.sh target/python-frames
	tools/python-tests.sh /dev/null python/tests/test_dask.py python/tests/cluster.py

bench: ## every benchmark of the crates and of the Python package; what needs a kernel's governors finds them as the tests do
	@tools/need.sh cargo cc
	@[ -n "$${IDLEWISE_KERNEL_SOURCES-}" ] || tools/kernel-sources.sh target/kernel-sources
	@for file in crates/*/benches/*.rs; do \
		crate=$${file#crates/}; \
		cargo bench --locked -p idlewise-$${crate%%/*} --bench $$(basename $$file .rs); \
	done
	@! command -v python3 >/dev/null || tools/python-bench.sh

reproduce: build ## every published experiment from its samples, and the guide's tables compared with it (five minutes)
	@mkdir -p target && rm -f target/reproduced.json
	$(IDLEWISE) reproduce --format json --output target/reproduced.json
	IDLEWISE_REPRODUCED=$(CURDIR)/target/reproduced.json cargo test --workspace --locked \
		--test reproduce guide_to_reproducing:: -- --nocapture

reproduce-fit: build ## draw the samples of what was not published anew where the model has changed; goes on where it was cut off (two hours)
	$(IDLEWISE) reproduce --draw --to experiments/samples $(if $(DRAWS),--draws $(DRAWS)) --force

fuzz: ## broken files of every kind through their readers, every check on: INPUTS of each, 100000 unless told
	@tools/need.sh cargo cc
	IDLEWISE_FUZZ_INPUTS=$(or $(INPUTS),100000) cargo test --profile fuzz --workspace --locked --test trace hostile_
	IDLEWISE_FUZZ_INPUTS=$(or $(INPUTS),100000) cargo test --profile fuzz --workspace --locked --test workload hostile_text::
	IDLEWISE_FUZZ_INPUTS=$(or $(INPUTS),100000) cargo test --profile fuzz --workspace --locked --test power hostile_requests::
	IDLEWISE_FUZZ_INPUTS=$(or $(INPUTS),100000) cargo test --profile fuzz --workspace --locked --test tape_files
	IDLEWISE_FUZZ_INPUTS=$(or $(INPUTS),100000) cargo test --profile fuzz --locked -p idlewise-live --lib journal
	IDLEWISE_FUZZ_INPUTS=$(or $(INPUTS),100000) cargo test --profile fuzz --workspace --locked --test view hostile_files::

help: ## this
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
