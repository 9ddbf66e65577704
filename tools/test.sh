#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Format, lints and all tests in one go; what fails does not keep the rest from running. The last line counts:
# "N passed, N failed", with the format and the lints as one test each. Exit status 1 if anything failed.
#
# A missing rustfmt or clippy is added with rustup; where that cannot be done it counts as failed, so that a build
# machine cannot lose its lints unnoticed. LINT=no leaves both out, and the end says so.
set -eu -o pipefail
cd "$(dirname "$0")/.."

passed=0 failed=0 notes=()

check() { # NAME COMMAND...
	echo "== $1"
	if "${@:2}"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		notes+=("failed: $1")
	fi
}

lint() { # COMPONENT PROGRAM: whether it is wanted; fetched where it is missing
	if [ "${LINT-}" = no ]; then
		notes+=("not run: $1 (LINT=no)")
		return 1
	fi
	"$2" --version >/dev/null 2>&1 || rustup component add "$1" || true
}

shared=${IDLEWISE_SHARED:-../shared}
[ -d "$shared" ] || notes+=("not run: what needs the kernel decisions and recordings of $shared (IDLEWISE_SHARED)")
# What comes from the network is fetched once for all clones of this user, while the tests are built. What is missing after that
# is named at the end.
cache=${XDG_CACHE_HOME:-${HOME-}/.cache}/idlewise
fetching=()
fetch() { # NAME VARIABLE: into target/NAME, by tools/NAME.sh, unless VARIABLE names another folder
	local folder=$PWD/target/$1
	[ -z "${!2-}" ] || return 0
	export "$2=$folder"
	if [ ! -e "$folder" ]; then
		mkdir -p target
		! mkdir -p "$cache/$1" 2>/dev/null || [ ! -w "$cache/$1" ] || ln -sfn "$cache/$1" "$folder"
	fi
	"tools/$1.sh" "$folder" &
	fetching+=($!)
}
# Kernels' own governors, compiled by the tests; Perfetto's own messages, read by Python.
fetch kernel-sources IDLEWISE_KERNEL_SOURCES
fetch python-perfetto IDLEWISE_PYTHON_PERFETTO
# What the Python package's tables go out to.
fetch python-frames IDLEWISE_PYTHON_FRAMES
# A whole tree, prepared, in which the overlay is compiled.
export IDLEWISE_LAB=${IDLEWISE_LAB:-$PWD/target/lab}

not_there() { # Notes for the end: what is missing, and which tests were not run without it.
	local tree tool
	for tree in linux-source-6.1 linux-source-6.12 linux-source-7.3; do
		[ -f "$IDLEWISE_KERNEL_SOURCES/$tree/Makefile" ] ||
			notes+=("not run: governors of a kernel, compiled from $IDLEWISE_KERNEL_SOURCES/$tree (not there; tools/kernel-sources.sh says why)")
	done
	[ -x "$IDLEWISE_PYTHON_PERFETTO/bin/python" ] ||
		notes+=("not run: comparisons with Perfetto's own messages (no $IDLEWISE_PYTHON_PERFETTO; tools/python-perfetto.sh says why)")
	[ -x "$IDLEWISE_PYTHON_FRAMES/bin/python" ] ||
		notes+=("not run: the Python package with data frames (no $IDLEWISE_PYTHON_FRAMES; tools/python-frames.sh says why)")
	for tool in aarch64-linux-gnu-gcc bison flex bc dtc; do
		command -v $tool >/dev/null || notes+=("not run: what the boot lab needs $tool for (not installed)")
	done
	for tool in trace-cmd perf babeltrace2; do
		command -v $tool >/dev/null || notes+=("not run: comparisons with $tool (not installed)")
	done
}

! lint rustfmt cargo-fmt || check rustfmt cargo fmt --all --check
# Clippy is the compiler of the tests (and of nothing that ships): its warnings come with their build, so the crates are gone
# through once. A warning fails the lints and keeps no test from running.
clippy=no
if lint clippy clippy-driver; then
	clippy=yes
	! clippy-driver --version >/dev/null || export IDLEWISE_COMPILER=clippy-driver
fi
export RUSTC_WORKSPACE_WRAPPER=$PWD/tools/test-compiler.sh
# A test that fails names its line without it.
export CARGO_PROFILE_DEV_DEBUG=0
# Nothing is compiled twice here, and a crate is not divided to be compiled by more cores than there are.
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_CODEGEN_UNITS=1

# "test result: ok. 12 passed; 0 failed; 1 ignored; ..." once per test binary and crate of documentation. What tests that passed
# have printed follows "successes:": of that the lines that begin with "skipped" are kept for the end.
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
tests() { # NAME ARGUMENTS of cargo test... -- ARGUMENTS of the tests...
	cargo test --workspace --locked --no-fail-fast "${@:2}" --show-output 2>&1 |
		awk -v counts="$results/$1.counts" -v skipped="$results/skipped" '
		/^test result: / { passed += $4; failed += $6; ignored += $8; quiet = 0 }
		/^successes:$/ { quiet = 1 }
		/^failures:$/ { quiet = 0 }
		/^skipped[: ]/ { print >>skipped; fflush(skipped) }
		!quiet { print; fflush() }
		END { print passed + 0, failed + 0, ignored + 0 >counts }' || touch "$results/failed"
}

echo "== tests"
build() { # Tests, then benchmarks, which only have to compile, and the library of the Python package.
	cargo test --workspace --locked --no-run && cargo build --workspace --locked --benches --lib
}
build 2>&1 | tee "$results/build" || true
clean() { [ -n "${IDLEWISE_COMPILER-}" ] && ! grep '^warning' "$results/build"; }
[ $clippy = no ] || check clippy clean
[ ${#fetching[@]} -eq 0 ] || wait "${fetching[@]}" || true
not_there
named() { # A "--test=NAME" for each test program of the crates that match.
	for file in crates/*/Cargo.toml; do
		[[ $file =~ ^crates/($1)/ ]] && sed -n '/^\[\[test\]\]/ { n; s/^name = "\(.*\)"/--test=\1/p }' "$file"
	done
}
# Tests of live commands and of Python mostly wait, those of the boot lab mostly run make: they run while the others compute, and
# what they print comes after the others. Of these the second half begins when the boot lab's are done, so that both CPUs are busy
# until the end. What compares this machine with itself comes last, alone.
waiting='cli|live|recorder|ab' kernels=boot second='[n-q].*|re[^c].*|[s-z].*' quiet=on_a_quiet_machine
mapfile -t live < <(named "$waiting")
mapfile -t boot < <(named "$kernels")
mapfile -t second < <(named "$second")
elsewhere=$(printf '%s\n' "${live[@]}" "${boot[@]}" "${second[@]}" | sed 's/--test=//' | paste -sd '|')
(
	tests boot "${boot[@]}" -- >"$results/boot.output"
	tests second "${second[@]}" -- >"$results/second.output"
) &
tests live "${live[@]}" -- --skip $quiet >"$results/live.output" &
(tools/python-tests.sh "$results/python" >"$results/python.output" 2>&1 && touch "$results/python.passed") &
python() {
	cat "$results/python.output"
	[ -e "$results/python.passed" ]
}
# With --lib, cargo would compile the crates that have no unit tests once more.
tests others --config "target.'cfg(all())'.runner=['$PWD/tools/unless-named.sh', '$elsewhere']" --
wait
cat "$results"/{second,boot,live}.output
tests alone "${live[@]}" -- $quiet
check python python
while read -r why; do
	notes+=("not run: $why")
done < <(cat "$results/python" 2>/dev/null)
[ ! -e "$results/failed" ] || notes+=("failed: cargo test")
read -r ok bad ignored < <(cat "$results"/*.counts | awk '{ a += $1; b += $2; c += $3 } END { print a, b, c }')
# Tests that did not compile, or a test process that died, have not been counted.
[[ $bad != 0 || " ${notes[*]-} " != *"failed: cargo test"* ]] || bad=1
while read -r times why; do
	why=${why#skipped}
	notes+=("not run: ${why#: } ($times tests)")
done < <(sort "$results/skipped" 2>/dev/null | uniq -c)
[ "$ignored" = 0 ] || notes+=("ignored: $ignored tests that ask for it (cargo test -- --ignored)")

echo
[ ${#notes[@]} -eq 0 ] || printf '%s\n' "${notes[@]}"
echo "$((passed + ok)) passed, $((failed + bad)) failed"
[ $((failed + bad)) -eq 0 ]
