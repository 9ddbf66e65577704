# SPDX-License-Identifier: GPL-2.0-only
# Generated: IDLEWISE_UPDATE_DOCS=1 cargo test --workspace --locked --test cli reference::
"""The commands of idlewise as functions, with their options as keyword arguments."""

from __future__ import annotations

from collections.abc import Iterable

from ._call import Progress, Value, call
from ._result import Result


def info(
    trace: Value,
    *,
    recorded_on: Value | None = None,
    sysfs: Value | None = None,
    kernel_governor: Value | None = None,
    instance: Value | None = None,
    despite_counters: Value | Iterable[Value] | None = None,
    kernel_tree: Value | Iterable[Value] | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Show what a trace holds, and what each CPU is good for.

    It says what is missing, too.

    trace: A trace in any supported format
    recorded_on: The machine that was recorded, if the trace lacks it. A platform, a
        platform file or a sysfs dump.
    sysfs: A sysfs dump of the machine that was recorded. `grep . -r
        /sys/devices/system/cpu/cpu*/cpuidle` prints it.
    kernel_governor: The idle governor that the kernel ran. To show how many of its
        choices replay repeats; other:NAME for a governor that idlewise does not
        have.
    instance: The trace instance of a trace.dat [default: the top one] Where it
        holds several.
    despite_counters: Use this CPU although its counters differ. Its idle entries in
        the trace differ from those that the kernel counted.
    kernel_tree: A kernel tree, whose governors may be named. linux:6.12/teo is one,
        linux:6.12 all of them; linux/teo where it is the only tree.
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "info",
        [trace],
        {
            "--recorded-on": (recorded_on, "commas"),
            "--sysfs": (sysfs, "commas"),
            "--kernel-governor": (kernel_governor, "commas"),
            "--instance": (instance, "commas"),
            "--despite-counters": (despite_counters, "again"),
            "--kernel-tree": (kernel_tree, "again"),
        },
        charts,
        progress,
    )


def tape(
    trace: Value,
    *,
    output: Value,
    force: bool = False,
    recorded_on: Value | None = None,
    sysfs: Value | None = None,
    kernel_governor: Value | None = None,
    instance: Value | None = None,
    despite_counters: Value | Iterable[Value] | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Write a tape: what governors would have seen of a trace.

    A small file with the inputs that a trace gives to governors, for replay.

    trace: A trace in any supported format
    output: The tape to write; an existing file is not overwritten
    force: Overwrite an existing file
    recorded_on: The machine that was recorded, if the trace lacks it. A platform, a
        platform file or a sysfs dump.
    sysfs: A sysfs dump of the machine that was recorded. `grep . -r
        /sys/devices/system/cpu/cpu*/cpuidle` prints it.
    kernel_governor: The idle governor that the kernel ran. To show how many of its
        choices replay repeats; other:NAME for a governor that idlewise does not
        have.
    instance: The trace instance of a trace.dat [default: the top one] Where it
        holds several.
    despite_counters: Use this CPU although its counters differ. Its idle entries in
        the trace differ from those that the kernel counted.
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "tape",
        [trace],
        {
            "--output": (output, "commas"),
            "--force": force,
            "--recorded-on": (recorded_on, "commas"),
            "--sysfs": (sysfs, "commas"),
            "--kernel-governor": (kernel_governor, "commas"),
            "--instance": (instance, "commas"),
            "--despite-counters": (despite_counters, "again"),
        },
        charts,
        progress,
    )


def convert(
    trace: Value,
    *,
    output: Value,
    to: Value | None = None,
    force: bool = False,
    governor: Value | Iterable[Value] | None = None,
    platform: Value | None = None,
    cluster: Value | None = None,
    kernel_tree: Value | Iterable[Value] | None = None,
    hz: Value | None = None,
    seed: Value | None = None,
    recorded_on: Value | None = None,
    sysfs: Value | None = None,
    kernel_governor: Value | None = None,
    instance: Value | None = None,
    despite_counters: Value | Iterable[Value] | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Convert a trace to Perfetto or ftrace text.

    Governors' choices can be additional tracks (Perfetto only).

    trace: A trace in any supported format
    output: The file to write; an existing file is not overwritten
    to: The format [default: from the ending of FILE] Endings: .perfetto-trace,
        .pftrace; .txt, .trace. Values: text, perfetto
    force: Overwrite an existing file
    governor: Replay these, and make each CPU's choices a track. Governors, with
        optional parameters; Perfetto only.
    platform: The machine to replay on [default: that of the recording] A platform,
        a platform file or a sysfs dump; `--recorded-on same` says that the
        recording was made on it, too.
    cluster: Replay all CPUs as some of this cluster. A cluster of the machine;
        every recorded CPU becomes one of it.
    kernel_tree: A kernel tree, whose governors may be named. linux:6.12/teo is one,
        linux:6.12 all of them; linux/teo where it is the only tree.
    hz: Replay as if the kernel's tick had N Hz [default: as recorded]
    seed: Seed of the random numbers that a governor may ask for [default: 0]
    recorded_on: The machine that was recorded, if the trace lacks it. A platform, a
        platform file or a sysfs dump.
    sysfs: A sysfs dump of the machine that was recorded. `grep . -r
        /sys/devices/system/cpu/cpu*/cpuidle` prints it.
    kernel_governor: The idle governor that the kernel ran. To show how many of its
        choices replay repeats; other:NAME for a governor that idlewise does not
        have.
    instance: The trace instance of a trace.dat [default: the top one] Where it
        holds several.
    despite_counters: Use this CPU although its counters differ. Its idle entries in
        the trace differ from those that the kernel counted.
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "convert",
        [trace],
        {
            "--output": (output, "commas"),
            "--to": (to, "commas"),
            "--force": force,
            "--governor": (governor, "commas"),
            "--platform": (platform, "commas"),
            "--cluster": (cluster, "commas"),
            "--kernel-tree": (kernel_tree, "again"),
            "--hz": (hz, "commas"),
            "--seed": (seed, "commas"),
            "--recorded-on": (recorded_on, "commas"),
            "--sysfs": (sysfs, "commas"),
            "--kernel-governor": (kernel_governor, "commas"),
            "--instance": (instance, "commas"),
            "--despite-counters": (despite_counters, "again"),
        },
        charts,
        progress,
    )


def replay(
    *traces: Value,
    governor: Value | Iterable[Value] | None = None,
    baseline: Value | None = None,
    per: Value | None = None,
    sensitivity: bool = False,
    power_limit: Value | None = None,
    platform: Value | None = None,
    cluster: Value | None = None,
    kernel_tree: Value | Iterable[Value] | None = None,
    hz: Value | None = None,
    seed: Value | None = None,
    recorded_on: Value | None = None,
    sysfs: Value | None = None,
    kernel_governor: Value | None = None,
    instance: Value | None = None,
    despite_counters: Value | Iterable[Value] | None = None,
    again: Value | None = None,
    trust: Value | Iterable[Value] | None = None,
    columns: Value | Iterable[Value] | None = None,
    sort: Value | None = None,
    write_decisions: Value | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Replay traces under any number of governors.

    It compares the governors with each other, and with the oracle.

    traces: Traces in any supported format, or tapes
    governor: Governors to compare: menu,teo-util,./mine.c,oracle. With parameters,
        teo-util:util_threshold_shift=5; an idle state disabled, menu:disable=1; a
        latency limit, teo:latency_limit_us=20. Of a kernel tree: linux:6.12/teo, or
        the tree's folder. LABEL@GOVERNOR gives one a name: base@~/linux/teo. oracle
        and hindsight are bounds. [default:
        menu-6.1,teo-6.1,teo-util,shallow,oracle]
    baseline: The governor to compare the others with [default: the first]
    per: Break the result down: cpu, cluster, state
    sensitivity: Replay also with uncertain sleep lengths at their ends. Shows
        whether the ranking of the governors depends on sleep lengths that the
        recording leaves uncertain: replay is done also with the least and the
        greatest that it allows.
    power_limit: What idle power is worth in clock under a package limit. A model in
        closed form, as an interval: the power that each governor frees against the
        baseline, and by how much the clock rises for it while the limit binds.
        pl1=6W:28s, or a range with rows of its own: pl1=4W..8W/1W:28s. Needs a
        platform with powers in watts. docs/concepts/power-limits.md has the
        formula.
    platform: The machine to replay on [default: that of the recording] A platform,
        a platform file or a sysfs dump; `--recorded-on same` says that the
        recording was made on it, too.
    cluster: Replay all CPUs as some of this cluster. A cluster of the machine;
        every recorded CPU becomes one of it.
    kernel_tree: A kernel tree, whose governors may be named. linux:6.12/teo is one,
        linux:6.12 all of them; linux/teo where it is the only tree.
    hz: Replay as if the kernel's tick had N Hz [default: as recorded]
    seed: Seed of the random numbers that a governor may ask for [default: 0]
    recorded_on: The machine that was recorded, if the trace lacks it. A platform, a
        platform file or a sysfs dump.
    sysfs: A sysfs dump of the machine that was recorded. `grep . -r
        /sys/devices/system/cpu/cpu*/cpuidle` prints it.
    kernel_governor: The idle governor that the kernel ran. To show how many of its
        choices replay repeats; other:NAME for a governor that idlewise does not
        have.
    instance: The trace instance of a trace.dat [default: the top one] Where it
        holds several.
    despite_counters: Use this CPU although its counters differ. Its idle entries in
        the trace differ from those that the kernel counted.
    again: Repeat the request that a JSON result records. The files that it names
        must not have changed.
    trust: Allow this C file or kernel tree, which RESULT.json names. Without this,
        C that a result names is neither compiled nor run.
    columns: Measures of the table: energy,latency_p99,too_deep.
        docs/reference/json.md lists them.
    sort: Sort the governors by this measure, the best first
    write_decisions: Also write every decision as a row: FILE.parquet, .arrow, .csv.
        With its inputs, what came of it and the oracle's choice, to a new file
        (docs/guide/decisions-as-data.md).
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "replay",
        [*traces],
        {
            "--governor": (governor, "commas"),
            "--baseline": (baseline, "commas"),
            "--per": (per, "commas"),
            "--sensitivity": sensitivity,
            "--power-limit": (power_limit, "commas"),
            "--platform": (platform, "commas"),
            "--cluster": (cluster, "commas"),
            "--kernel-tree": (kernel_tree, "again"),
            "--hz": (hz, "commas"),
            "--seed": (seed, "commas"),
            "--recorded-on": (recorded_on, "commas"),
            "--sysfs": (sysfs, "commas"),
            "--kernel-governor": (kernel_governor, "commas"),
            "--instance": (instance, "commas"),
            "--despite-counters": (despite_counters, "again"),
            "--again": (again, "commas"),
            "--trust": (trust, "again"),
            "--columns": (columns, "commas"),
            "--sort": (sort, "commas"),
            "--write-decisions": (write_decisions, "commas"),
        },
        charts,
        progress,
    )


def compare(
    *traces: Value,
    governor: Value | Iterable[Value] | None = None,
    per: Value | None = None,
    fail_if: Value | Iterable[Value] | None = None,
    platform: Value | None = None,
    cluster: Value | None = None,
    kernel_tree: Value | Iterable[Value] | None = None,
    hz: Value | None = None,
    seed: Value | None = None,
    recorded_on: Value | None = None,
    sysfs: Value | None = None,
    kernel_governor: Value | None = None,
    instance: Value | None = None,
    despite_counters: Value | Iterable[Value] | None = None,
    again: Value | None = None,
    trust: Value | Iterable[Value] | None = None,
    columns: Value | Iterable[Value] | None = None,
    sort: Value | None = None,
    write_decisions: Value | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Compare two governors on the same traces, choice by choice.

    traces: Traces in any supported format, or tapes. Without --governor, the two
        governors stand before them.
    governor: The governor to change from, and that to change to. With optional
        parameters: teo-6.1,teo-util:util_threshold_shift=5; or oracle. As in
        `idlewise replay`.
    per: Break the result down: cpu, cluster
    fail_if: Exit with status 1 if this holds; may be repeated. In any trace, or in
        all together.
    platform: The machine to replay on [default: that of the recording] A platform,
        a platform file or a sysfs dump; `--recorded-on same` says that the
        recording was made on it, too.
    cluster: Replay all CPUs as some of this cluster. A cluster of the machine;
        every recorded CPU becomes one of it.
    kernel_tree: A kernel tree, whose governors may be named. linux:6.12/teo is one,
        linux:6.12 all of them; linux/teo where it is the only tree.
    hz: Replay as if the kernel's tick had N Hz [default: as recorded]
    seed: Seed of the random numbers that a governor may ask for [default: 0]
    recorded_on: The machine that was recorded, if the trace lacks it. A platform, a
        platform file or a sysfs dump.
    sysfs: A sysfs dump of the machine that was recorded. `grep . -r
        /sys/devices/system/cpu/cpu*/cpuidle` prints it.
    kernel_governor: The idle governor that the kernel ran. To show how many of its
        choices replay repeats; other:NAME for a governor that idlewise does not
        have.
    instance: The trace instance of a trace.dat [default: the top one] Where it
        holds several.
    despite_counters: Use this CPU although its counters differ. Its idle entries in
        the trace differ from those that the kernel counted.
    again: Repeat the request that a JSON result records. The files that it names
        must not have changed.
    trust: Allow this C file or kernel tree, which RESULT.json names. Without this,
        C that a result names is neither compiled nor run.
    columns: Measures of the table: energy,latency_p99,too_deep.
        docs/reference/json.md lists them.
    sort: Sort the governors by this measure, the best first
    write_decisions: Also write every decision as a row: FILE.parquet, .arrow, .csv.
        With its inputs, what came of it and the oracle's choice, to a new file
        (docs/guide/decisions-as-data.md).
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "compare",
        [*traces],
        {
            "--governor": (governor, "commas"),
            "--per": (per, "commas"),
            "--fail-if": (fail_if, "again"),
            "--platform": (platform, "commas"),
            "--cluster": (cluster, "commas"),
            "--kernel-tree": (kernel_tree, "again"),
            "--hz": (hz, "commas"),
            "--seed": (seed, "commas"),
            "--recorded-on": (recorded_on, "commas"),
            "--sysfs": (sysfs, "commas"),
            "--kernel-governor": (kernel_governor, "commas"),
            "--instance": (instance, "commas"),
            "--despite-counters": (despite_counters, "again"),
            "--again": (again, "commas"),
            "--trust": (trust, "again"),
            "--columns": (columns, "commas"),
            "--sort": (sort, "commas"),
            "--write-decisions": (write_decisions, "commas"),
        },
        charts,
        progress,
    )


def explain(
    trace: Value | None = None,
    *,
    governor: Value | None = None,
    cpu: Value | None = None,
    at: Value | None = None,
    after: Value | None = None,
    decision: Value | None = None,
    golden: Value | None = None,
    row: Value | None = None,
    decisions: Value | None = None,
    line: Value | None = None,
    why_differ: Value | Iterable[Value] | None = None,
    others: Value | Iterable[Value] | None = None,
    platform: Value | None = None,
    cluster: Value | None = None,
    kernel_tree: Value | Iterable[Value] | None = None,
    hz: Value | None = None,
    seed: Value | None = None,
    recorded_on: Value | None = None,
    sysfs: Value | None = None,
    kernel_governor: Value | None = None,
    instance: Value | None = None,
    despite_counters: Value | Iterable[Value] | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Explain one decision: inputs, state, reasons.

    It tells what the other governors chose, too.

    trace: A trace in any supported format, or a tape
    governor: The governor, with optional parameters
    cpu: The CPU [default: the only one]
    at: The last decision at or before this time, in s. A time of the recording, as
        `trace-cmd report` prints it.
    after: As --at, but counted from the first event of the recording
    decision: The decision with this number on its CPU, counted from 0
    golden: A golden file (see `idlewise drive`) instead of a trace
    row: The row of the golden file, counted from 0
    decisions: Decisions recorded on a live kernel, instead of a trace. As `idlewise
        drive` reads them; --platform names the machine.
    line: The line of --decisions, as `idlewise drive` names it
    why_differ: Find where two governors differ. The first choice, and those that
        cost most energy and latency.
    others: Show these, too, for the decision; or none [default: all] Other
        governors, for the same decision.
    platform: The machine to replay on [default: that of the recording] A platform,
        a platform file or a sysfs dump; `--recorded-on same` says that the
        recording was made on it, too.
    cluster: Replay all CPUs as some of this cluster. A cluster of the machine;
        every recorded CPU becomes one of it.
    kernel_tree: A kernel tree, whose governors may be named. linux:6.12/teo is one,
        linux:6.12 all of them; linux/teo where it is the only tree.
    hz: Replay as if the kernel's tick had N Hz [default: as recorded]
    seed: Seed of the random numbers that a governor may ask for [default: 0]
    recorded_on: The machine that was recorded, if the trace lacks it. A platform, a
        platform file or a sysfs dump.
    sysfs: A sysfs dump of the machine that was recorded. `grep . -r
        /sys/devices/system/cpu/cpu*/cpuidle` prints it.
    kernel_governor: The idle governor that the kernel ran. To show how many of its
        choices replay repeats; other:NAME for a governor that idlewise does not
        have.
    instance: The trace instance of a trace.dat [default: the top one] Where it
        holds several.
    despite_counters: Use this CPU although its counters differ. Its idle entries in
        the trace differ from those that the kernel counted.
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "explain",
        [trace],
        {
            "--governor": (governor, "commas"),
            "--cpu": (cpu, "commas"),
            "--at": (at, "commas"),
            "--after": (after, "commas"),
            "--decision": (decision, "commas"),
            "--golden": (golden, "commas"),
            "--row": (row, "commas"),
            "--decisions": (decisions, "commas"),
            "--line": (line, "commas"),
            "--why-differ": (why_differ, "commas"),
            "--others": (others, "commas"),
            "--platform": (platform, "commas"),
            "--cluster": (cluster, "commas"),
            "--kernel-tree": (kernel_tree, "again"),
            "--hz": (hz, "commas"),
            "--seed": (seed, "commas"),
            "--recorded-on": (recorded_on, "commas"),
            "--sysfs": (sysfs, "commas"),
            "--kernel-governor": (kernel_governor, "commas"),
            "--instance": (instance, "commas"),
            "--despite-counters": (despite_counters, "again"),
        },
        charts,
        progress,
    )


def score(
    trace: Value,
    *,
    counters: Value | Iterable[Value] | None = None,
    per: Value | None = None,
    recorded_on: Value | None = None,
    sysfs: Value | None = None,
    kernel_governor: Value | None = None,
    instance: Value | None = None,
    despite_counters: Value | Iterable[Value] | None = None,
    columns: Value | Iterable[Value] | None = None,
    sort: Value | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Score the choices that the kernel made in a trace.

    Nothing is replayed.

    trace: A trace in any supported format, or a tape
    counters: Check the trace against the kernel's counters. cpuidle in sysfs before
        and after it, as `grep -r .` prints it, with a line cpuN/at_ns:TIME for each
        CPU (when its counters were read, in ns on the trace's clock).
    per: Break the result down: cpu, cluster, state
    recorded_on: The machine that was recorded, if the trace lacks it. A platform, a
        platform file or a sysfs dump.
    sysfs: A sysfs dump of the machine that was recorded. `grep . -r
        /sys/devices/system/cpu/cpu*/cpuidle` prints it.
    kernel_governor: The idle governor that the kernel ran. To show how many of its
        choices replay repeats; other:NAME for a governor that idlewise does not
        have.
    instance: The trace instance of a trace.dat [default: the top one] Where it
        holds several.
    despite_counters: Use this CPU although its counters differ. Its idle entries in
        the trace differ from those that the kernel counted.
    columns: Measures of the table: energy,latency_p99,too_deep.
        docs/reference/json.md lists them.
    sort: Sort the governors by this measure, the best first
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "score",
        [trace],
        {
            "--counters": (counters, "after"),
            "--per": (per, "commas"),
            "--recorded-on": (recorded_on, "commas"),
            "--sysfs": (sysfs, "commas"),
            "--kernel-governor": (kernel_governor, "commas"),
            "--instance": (instance, "commas"),
            "--despite-counters": (despite_counters, "again"),
            "--columns": (columns, "commas"),
            "--sort": (sort, "commas"),
        },
        charts,
        progress,
    )


def simulate(
    workload: Value | None = None,
    *,
    platform: Value | None = None,
    governor: Value | Iterable[Value] | None = None,
    cpufreq: Value | Iterable[Value] | None = None,
    signal: Value | Iterable[Value] | None = None,
    baseline: Value | None = None,
    kernel: Value | None = None,
    kernel_tree: Value | Iterable[Value] | None = None,
    hz: Value | None = None,
    cpus: Value | None = None,
    set: Value | Iterable[Value] | None = None,
    base_mw: Value | None = None,
    power_limit: Value | None = None,
    seconds: Value | None = None,
    seed: Value | None = None,
    repeat: Value | None = None,
    write_trace: Value | None = None,
    beside: Value | Iterable[Value] | None = None,
    tasks: bool = False,
    again: Value | None = None,
    trust: Value | Iterable[Value] | None = None,
    recorded_on: Value | None = None,
    sysfs: Value | None = None,
    kernel_governor: Value | None = None,
    instance: Value | None = None,
    despite_counters: Value | Iterable[Value] | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Run a workload on a simulated machine.

    It runs under any idle and frequency governors, which are compared.

    workload: A workload that ships with idlewise, or a file. Files are in rt-app's
        grammar (docs/reference/workload-format.md).
    platform: The machine [default: pixel6]
    governor: Idle governors to compare: menu,teo-util,./mine.c. With parameters,
        teo-util:util_threshold_shift=5; an idle state disabled, menu:disable=1; a
        latency limit, teo:latency_limit_us=20. Of a kernel tree: linux:6.12/teo, or
        the tree's folder. LABEL@GOVERNOR gives one a name. [default:
        menu-6.1,teo-6.1,teo-util,shallow]
    cpufreq: Frequency governors, with optional parameters.
        docs/reference/frequency-governors.md lists them. [default: schedutil]
    signal: Load signals of the frequency governors: pelt,walt. With parameters:
        pelt:half_life_ms=8, walt:window_ms=10; walt-3.18 places tasks by busy time;
        walt-rfc is WALT as posted. [default: pelt]
    baseline: Compare the others with this one [default: the first] A governor of
        one of the combinations.
    kernel: The kernel version whose scheduler is simulated. Its load tracking and
        its fair scheduler. [default: 6.12]
    kernel_tree: A kernel tree, whose governors may be named. linux:6.12/teo is one,
        linux:6.12 all of them; linux/teo where it is the only tree.
    hz: Ticks per second [default: the platform's]
    cpus: Number of CPUs, if the platform does not fix it
    set: Change a value of the platform's file; may be repeated. The key is a path
        with the names of blocks: --set cluster.LITTLE.state.c2.refill_us=100 --set
        cluster.BIG.clock.max_khz=1500000. docs/reference/platform-format.md has all
        keys.
    base_mw: Power of all parts other than the CPUs [default: the platform's]
        Constant power that the battery supplies to display, memory, radio and so
        on.
    power_limit: Limit the package's power: pl1=6W:28s,pl2=12W:976us. A power and
        its running average's window; or a range, FROM..TO/STEP, with a row of
        results each: pl1=4W..8W/1W:28s. After the window, :no-clamp keeps clocks at
        the base clock or above, and @5W starts the average at 5 W instead of idle
        power. What is not given is the platform's; none lifts its limits.
        docs/concepts/power-limits.md says what a limit does.
    seconds: Simulated time [default: the workload's, else 10]
    seed: Seed of the random numbers [default: 1]
    repeat: Runs of each combination [default: 5; 1 with --write-trace] Each run has
        the next seed.
    write_trace: Write a trace of the run, as a kernel would record it. ftrace text
        (.txt, .trace) or Perfetto (.perfetto-trace). FILE.toml next to it names the
        machine and the governor for `idlewise replay`.
    beside: Simulate these recordings' runs, and compare. Recordings of real runs of
        the workload, by `idlewise boot` or on a machine: each is simulated with its
        machine and its idle governor, and the simulation compared with the
        recording.
    tasks: Show all counts for each task
    again: Repeat the request that a JSON result records
    trust: Allow this C file or kernel tree, which RESULT.json names. Without this,
        C that a result names is neither compiled nor run.
    recorded_on: The machine that was recorded, if the trace lacks it. A platform, a
        platform file or a sysfs dump.
    sysfs: A sysfs dump of the machine that was recorded. `grep . -r
        /sys/devices/system/cpu/cpu*/cpuidle` prints it.
    kernel_governor: The idle governor that the kernel ran. To show how many of its
        choices replay repeats; other:NAME for a governor that idlewise does not
        have.
    instance: The trace instance of a trace.dat [default: the top one] Where it
        holds several.
    despite_counters: Use this CPU although its counters differ. Its idle entries in
        the trace differ from those that the kernel counted.
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "simulate",
        [workload],
        {
            "--platform": (platform, "commas"),
            "--governor": (governor, "commas"),
            "--cpufreq": (cpufreq, "commas"),
            "--signal": (signal, "commas"),
            "--baseline": (baseline, "commas"),
            "--kernel": (kernel, "commas"),
            "--kernel-tree": (kernel_tree, "again"),
            "--hz": (hz, "commas"),
            "--cpus": (cpus, "commas"),
            "--set": (set, "again"),
            "--base-mw": (base_mw, "commas"),
            "--power-limit": (power_limit, "commas"),
            "--seconds": (seconds, "commas"),
            "--seed": (seed, "commas"),
            "--repeat": (repeat, "commas"),
            "--write-trace": (write_trace, "commas"),
            "--beside": (beside, "after"),
            "--tasks": tasks,
            "--again": (again, "commas"),
            "--trust": (trust, "again"),
            "--recorded-on": (recorded_on, "commas"),
            "--sysfs": (sysfs, "commas"),
            "--kernel-governor": (kernel_governor, "commas"),
            "--instance": (instance, "commas"),
            "--despite-counters": (despite_counters, "again"),
        },
        charts,
        progress,
    )


def reproduce(
    *names: Value,
    runs: Value | None = None,
    trust: Value | Iterable[Value] | None = None,
    sensitivity: bool = False,
    region: Value | Iterable[Value] | None = None,
    draw: bool = False,
    to: Value | None = None,
    samples: Value | None = None,
    draws: Value | None = None,
    seed: Value | None = None,
    force: bool = False,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Repeat published experiments by simulation.

    The results are compared with the published numbers.

    names: Experiments that ship with idlewise, documents by number, or files
        [default: all] Of all, a summary only. Documents:
        docs/reference/published-documents.md. The format of files:
        docs/reference/experiments.md.
    runs: Runs of each cell of an experiment without unknowns. Of the others each
        sample of the unknowns is run once. [default: 48]
    trust: Allow this C file, if an experiment names it. Without this, C that an
        experiment names is neither compiled nor run.
    sensitivity: Show on which unknowns each number depends. Rank correlations over
        the samples, from -1 to 1; those nearer to 0 than 0.3 are left out.
    region: Show where the published number of a cell would come out: ROW/COLUMN;
        may be repeated
    draw: Draw samples of what was not published, instead of repeating. Those
        settings stay with which the baseline's published numbers come out within
        their noise; no other number is looked at. An interrupted drawing goes on
        where it was. Samples of a file go next to it, those of an experiment that
        ships to --to.
    to: The folder for samples of experiments that ship
    samples: Samples to draw, 10 to 10000 [default: 48]
    draws: Settings to try at most, 240 to 10000000 [default: as the experiment
        says, or 40000]
    seed: The seed of the drawing [default: 1]
    force: Overwrite samples
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "reproduce",
        [*names],
        {
            "--runs": (runs, "commas"),
            "--trust": (trust, "again"),
            "--sensitivity": sensitivity,
            "--region": (region, "again"),
            "--draw": draw,
            "--to": (to, "commas"),
            "--samples": (samples, "commas"),
            "--draws": (draws, "commas"),
            "--seed": (seed, "commas"),
            "--force": force,
        },
        charts,
        progress,
    )


def check(
    governor: Value,
    *,
    property: Value | Iterable[Value] | None = None,
    seconds: Value | None = None,
    seed: Value | None = None,
    kernel_tree: Value | Iterable[Value] | None = None,
    kunit: Value | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Check that a governor keeps what all must keep.

    It looks for disabled states, broken latency limits, overflows and more, and
        prints the shortest sequence of idle periods that leads to each.

    governor: The governor: one of ours, a C file, linux:6.12/teo. With optional
        parameters.
    property: Check only these properties [default: all] crash, index, disabled,
        latency, polling, shallow, arithmetic, memory, other-cpu, uninitialised,
        repeatable, independent, cost. The guide has what each asks for.
    seconds: Draw new sequences for so many seconds. Without it their number is
        fixed, and the same seed gives the same result.
    seed: Which sequences are drawn [default: 1]
    kernel_tree: A kernel tree, whose governors may be named. linux:6.12/teo is one,
        linux:6.12 all of them; linux/teo where it is the only tree.
    kunit: Write a patch with a KUnit test of the violations. It adds a file next to
        the governor's in a kernel tree; the lines below the result say how to run
        it. - for standard output; an existing file is not overwritten.
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "check",
        [governor],
        {
            "--property": (property, "commas"),
            "--seconds": (seconds, "commas"),
            "--seed": (seed, "commas"),
            "--kernel-tree": (kernel_tree, "again"),
            "--kunit": (kunit, "commas"),
        },
        charts,
        progress,
    )


def diff(
    before: Value,
    after: Value | None = None,
    *,
    as_: Value | None = None,
    cpus: Value | Iterable[Value] | None = None,
    per: Value | None = None,
    recorded_on: Value | None = None,
    sysfs: Value | None = None,
    kernel_governor: Value | None = None,
    instance: Value | None = None,
    despite_counters: Value | Iterable[Value] | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Subtract two snapshots of counters, or compare two runs.

    The text fits into a mail.

    before: The earlier snapshot of counters, or the first run. Or a file that holds
        both snapshots.
    after: The later snapshot, or the run to compare with
    as_: How to read the files [default: detected and reported]: snapshots (two
        snapshots of one machine: show what happened between them), runs (two runs:
        show how the second differs from the first)
    cpus: The CPUs of a file that names none, in the file's order: 0-3,8
    per: Break the result down. By CPU, by cluster only, or by state only. Values:
        cpu, cluster, state
    recorded_on: The machine that was recorded, if the trace lacks it. A platform, a
        platform file or a sysfs dump.
    sysfs: A sysfs dump of the machine that was recorded. `grep . -r
        /sys/devices/system/cpu/cpu*/cpuidle` prints it.
    kernel_governor: The idle governor that the kernel ran. To show how many of its
        choices replay repeats; other:NAME for a governor that idlewise does not
        have.
    instance: The trace instance of a trace.dat [default: the top one] Where it
        holds several.
    despite_counters: Use this CPU although its counters differ. Its idle entries in
        the trace differ from those that the kernel counted.
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "diff",
        [before, after],
        {
            "--as": (as_, "commas"),
            "--cpus": (cpus, "commas"),
            "--per": (per, "commas"),
            "--recorded-on": (recorded_on, "commas"),
            "--sysfs": (sysfs, "commas"),
            "--kernel-governor": (kernel_governor, "commas"),
            "--instance": (instance, "commas"),
            "--despite-counters": (despite_counters, "again"),
        },
        charts,
        progress,
    )


def review(
    *series: Value,
    base: Value,
    recordings: Value | Iterable[Value] | None = None,
    governor: Value | Iterable[Value] | None = None,
    platform: Value | None = None,
    recorded_on: Value | None = None,
    repeat: Value | None = None,
    workload: Value | Iterable[Value] | None = None,
    sequences: Value | None = None,
    no_simulation: bool = False,
    boot: Value | None = None,
    fail_if: Value | Iterable[Value] | None = None,
    seed: Value | None = None,
    also: Value | Iterable[Value] | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Judge a patch series on recordings, patch by patch.

    Each patch is applied to the governors, compiled, checked, replayed and
        simulated. No kernel is built.

    series: The series: mbox, patches, folder of them, A..B, or C files. An mbox may
        be packed by gzip, and hold a cover letter and answers. A..B are commits of
        the repository --base. C files are versions of one governor.
    base: What it is for: a kernel tree, 6.12, or a C file. A number is a version of
        Debian's kernel sources, in /usr/src or where IDLEWISE_KERNEL_SOURCES names.
    recordings: Recordings, and folders of them [default: corpus]
    governor: Judge these governors [default: those that change]
    platform: The machine to replay on [default: that of each recording]
    recorded_on: The machine that was recorded, of recordings that lack it
    repeat: Simulate each workload that ships with idlewise so often, with other
        seeds [default: 5]
    workload: Simulate only these of those workloads [default: all]
    sequences: Check each version with so many random sequences. On each of the
        machines that `idlewise check` has, which draws as many. Fewer take less
        time, and can miss a fault. [default: 8]
    no_simulation: Do not simulate those workloads
    boot: Also boot every version in a real kernel; recordings go to DIR. On a
        virtual machine with an RK3399's idle states, as `idlewise boot run` does:
        minutes, and a cross compiler. The base twice, so that a row shows what
        chance alone gives.
    fail_if: Exit with status 1 if this holds; may be repeated. After any patch,
        against the base.
    seed: Seed of random numbers and of checked sequences [default: 0]
    also: Also write the result to this file; may be repeated. In the form of its
        ending: .json, .md, .csv, .parquet, .arrow. An existing file is not
        overwritten.
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "review",
        [*series],
        {
            "--base": (base, "commas"),
            "--recordings": (recordings, "after"),
            "--governor": (governor, "commas"),
            "--platform": (platform, "commas"),
            "--recorded-on": (recorded_on, "commas"),
            "--repeat": (repeat, "commas"),
            "--workload": (workload, "commas"),
            "--sequences": (sequences, "commas"),
            "--no-simulation": no_simulation,
            "--boot": (boot, "commas"),
            "--fail-if": (fail_if, "again"),
            "--seed": (seed, "commas"),
            "--also": (also, "again"),
        },
        charts,
        progress,
    )


def bisect(
    good: Value,
    bad: Value,
    *recordings: Value,
    fail_if: Value,
    kernel_tree: Value | None = None,
    governor: Value | None = None,
    platform: Value | None = None,
    recorded_on: Value | None = None,
    seed: Value | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Find the commit or version that moved a number.

    Only governors are taken from each commit. No kernel is built.

    good: The version without it: a commit, or a governor's id
    bad: The version with it
    recordings: Recordings, and folders of them
    fail_if: What BAD meets and GOOD does not; changes are against GOOD
    kernel_tree: The git repository of a kernel whose commits are meant. Without it,
        GOOD and BAD are versions that ship with idlewise.
    governor: The governor [default: the one that the commits change]
    platform: The machine to replay on [default: that of each recording]
    recorded_on: The machine that was recorded, of recordings that lack it
    seed: Seed of the random numbers that a governor may ask for [default: 0]
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "bisect",
        [good, bad, *recordings],
        {
            "--fail-if": (fail_if, "commas"),
            "--kernel-tree": (kernel_tree, "commas"),
            "--governor": (governor, "commas"),
            "--platform": (platform, "commas"),
            "--recorded-on": (recorded_on, "commas"),
            "--seed": (seed, "commas"),
        },
        charts,
        progress,
    )


def counterexample(
    a: Value,
    b: Value,
    *traces: Value,
    metric: Value | None = None,
    by: Value | None = None,
    times: Value | None = None,
    tape: Value | None = None,
    rt_app: Value | None = None,
    rounds: Value | None = None,
    seed: Value | None = None,
    platform: Value | Iterable[Value] | None = None,
    hz: Value | None = None,
    kernel_tree: Value | Iterable[Value] | None = None,
    recorded_on: Value | None = None,
    sysfs: Value | None = None,
    kernel_governor: Value | None = None,
    instance: Value | None = None,
    despite_counters: Value | Iterable[Value] | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Find the shortest tape on which one governor is worse.

    In recordings where two governors differ, or among drawn idle periods; made
        minimal, printed as a story, written as a tape that replay reads. Unless
        told, each governor decides about a million times, which takes seconds;
        where sequences stay long, up to 45 million times.

    a: The governor that is to be worse, as in `idlewise replay`
    b: The governor that it is compared with, or oracle
    traces: Recordings or tapes where they differ [default: drawn idle periods]
    metric: In what A is worse: energy, latency_mean, too_deep, ...
        docs/reference/json.md lists the measures. [default: energy]
    by: By how much; of shares percentage points [default: 5%]
    times: Play the idle periods so many times over. A has to be worse in all rounds
        together and in the last, when both have learned what they can. All rounds
        together have 200 idle periods at most. [default: 1]
    tape: Also write it as a tape, for replay
    rt_app: Also write it as a file of rt-app, for `boot run`. Only where every idle
        period ends by a timer.
    rounds: Draw so many sequences for each cluster [default: 1500]
    seed: Which sequences are drawn [default: 1]
    platform: Machines to search [default: six of those that ship with idlewise]
        With TRACE one machine, to replay on instead of the recorded one.
    hz: Ticks per second [default: the machine's or recording's]
    kernel_tree: A kernel tree, whose governors may be named. linux:6.12/teo is one,
        linux:6.12 all of them; linux/teo where it is the only tree.
    recorded_on: The machine that was recorded, if the trace lacks it. A platform, a
        platform file or a sysfs dump.
    sysfs: A sysfs dump of the machine that was recorded. `grep . -r
        /sys/devices/system/cpu/cpu*/cpuidle` prints it.
    kernel_governor: The idle governor that the kernel ran. To show how many of its
        choices replay repeats; other:NAME for a governor that idlewise does not
        have.
    instance: The trace instance of a trace.dat [default: the top one] Where it
        holds several.
    despite_counters: Use this CPU although its counters differ. Its idle entries in
        the trace differ from those that the kernel counted.
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "counterexample",
        [a, b, *traces],
        {
            "--metric": (metric, "commas"),
            "--by": (by, "commas"),
            "--times": (times, "commas"),
            "--tape": (tape, "commas"),
            "--rt-app": (rt_app, "commas"),
            "--rounds": (rounds, "commas"),
            "--seed": (seed, "commas"),
            "--platform": (platform, "commas"),
            "--hz": (hz, "commas"),
            "--kernel-tree": (kernel_tree, "again"),
            "--recorded-on": (recorded_on, "commas"),
            "--sysfs": (sysfs, "commas"),
            "--kernel-governor": (kernel_governor, "commas"),
            "--instance": (instance, "commas"),
            "--despite-counters": (despite_counters, "again"),
        },
        charts,
        progress,
    )


def sweep(
    *recordings: Value,
    governor: Value | Iterable[Value] | None = None,
    baseline: Value | None = None,
    front: Value | Iterable[Value] | None = None,
    sample: Value | None = None,
    method: Value | None = None,
    plan: Value | None = None,
    to: Value | None = None,
    shard: Value | None = None,
    dry_run: bool = False,
    workload: Value | Iterable[Value] | None = None,
    seeds: Value | None = None,
    seconds: Value | None = None,
    cpufreq: Value | None = None,
    signal: Value | None = None,
    platform: Value | Iterable[Value] | None = None,
    recorded_on: Value | None = None,
    cluster: Value | None = None,
    hz: Value | None = None,
    kernel_tree: Value | Iterable[Value] | None = None,
    seed: Value | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Run governors with many values of their parameters.

    Every setting on every recording, against one: which are best, and which no
        other beats.

    recordings: Recordings, folders of them, folders of a corpus
    governor: Governors with values of parameters: teo:decay_shift=2..5. A range
        A..B or A..B/STEP with both ends, or a list A|B|C; several parameters with
        commas between are swept together. As in `idlewise replay`, also a C file, a
        governor of a kernel tree, and what is taken from it: menu:disable=1|2.
    baseline: Compare with this one [default: the first, with its defaults]
    front: Measures of which the front is [default: energy,latency_mean] The front
        are the settings that no other beats: none is as good in all of these
        measures and better in one. Of energy, latency_mean, latency_p99, too_deep,
        too_shallow, wakeups, and of workloads work.
    sample: Draw N settings of each governor, instead of running all
    method: How they are drawn [default: latin-hypercube]: latin-hypercube (each
        parameter's values in as many equal parts as settings, one setting in each
        part), random (each value by chance alone)
    plan: Take what is not given here from this file. TOML with the fields of
        `request` in JSON: governors, recordings, platforms, sample, ... Recordings
        are relative to its folder. It may name governors that ship with idlewise
        only.
    to: Keep results in this folder, and compute none that is there. Each by what it
        is the result of: recording, governor, parameters, machine, version. Several
        commands may share a folder.
    shard: Run part I of N only; the same without it shows all
    dry_run: Say how much it is and how long it takes, and run nothing
    workload: Workloads to simulate, alone or together with recordings. Names of
        `idlewise simulate --list`, or files in rt-app's grammar. Their energy is
        that of the CPUs, running and idle.
    seeds: Seeds of each, as 1..5 or 1|7 [default: 1..5]
    seconds: Simulated time [default: the workload's, else 10]
    cpufreq: Frequency governor, with optional parameters [default: schedutil]
    signal: The load signal that it reads [default: pelt]
    platform: Machines to replay on [default: that of each recording] Platforms,
        platform files or sysfs dumps. Workloads are simulated on each, on pixel6
        where none is named.
    recorded_on: The machine that was recorded, of recordings that lack it
    cluster: Replay all CPUs as some of this cluster
    hz: Replay as if the kernel's tick had N Hz [default: as recorded]
    kernel_tree: A kernel tree, whose governors may be named
    seed: Seed of what is drawn, and of governors [default: 0]
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "sweep",
        [*recordings],
        {
            "--governor": (governor, "commas"),
            "--baseline": (baseline, "commas"),
            "--front": (front, "commas"),
            "--sample": (sample, "commas"),
            "--method": (method, "commas"),
            "--plan": (plan, "commas"),
            "--to": (to, "commas"),
            "--shard": (shard, "commas"),
            "--dry-run": dry_run,
            "--workload": (workload, "commas"),
            "--seeds": (seeds, "commas"),
            "--seconds": (seconds, "commas"),
            "--cpufreq": (cpufreq, "commas"),
            "--signal": (signal, "commas"),
            "--platform": (platform, "commas"),
            "--recorded-on": (recorded_on, "commas"),
            "--cluster": (cluster, "commas"),
            "--hz": (hz, "commas"),
            "--kernel-tree": (kernel_tree, "again"),
            "--seed": (seed, "commas"),
        },
        charts,
        progress,
    )


def fitness(
    governor: Value,
    *,
    corpus: Value | None = None,
    split: Value | None = None,
    despite: Value | Iterable[Value] | None = None,
    seed: Value | None = None,
    kernel_tree: Value | Iterable[Value] | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """One number for a governor: its regret on unseen machines.

    The median of its idle energy above the oracle's, and whether its checks pass:
        for searches by people and programs.

    governor: The governor: a C file, one of ours, linux:6.12/teo. With optional
        parameters.
    corpus: The folder of the corpus [default: corpus]
    split: The part of it: train, validation or test. Each machine belongs to one.
        What was made with the recordings of one part is judged on another.
        [default: validation]
    despite: Properties that it may violate, such as those of Linux
    seed: Which sequences are checked, and the governor's random numbers [default:
        1]
    kernel_tree: A kernel tree, whose governors may be named
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "fitness",
        [governor],
        {
            "--corpus": (corpus, "commas"),
            "--split": (split, "commas"),
            "--despite": (despite, "commas"),
            "--seed": (seed, "commas"),
            "--kernel-tree": (kernel_tree, "again"),
        },
        charts,
        progress,
    )


def corpus_run(
    folder: Value | None = None,
    *,
    id: Value | Iterable[Value] | None = None,
    split: Value | None = None,
    basis: Value | None = None,
    machine: Value | Iterable[Value] | None = None,
    workload: Value | Iterable[Value] | None = None,
    governor: Value | Iterable[Value] | None = None,
    baseline: Value | None = None,
    per: Value | None = None,
    include_poor: bool = False,
    seed: Value | None = None,
    kernel_tree: Value | Iterable[Value] | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Replay all of it, each recording on its own machine.

    Shows what each governor loses against the oracle, and how it differs from the
        first, with intervals over machines.

    folder: The folder of the corpus [default: corpus]
    id: Only these recordings, by id
    split: Only this part: train, validation or test
    basis: Only measured, emulated or model. measured: a kernel on a machine;
        emulated: a real kernel on an emulated machine; model: simulated.
    machine: Only these machines
    workload: Only these kinds of load
    governor: Governors, as in `idlewise replay`; the oracle is always there
        [default: menu,teo-6.1,teo-util,teo]
    baseline: Compare the others with this one [default: the first]
    per: Break the regret down: machine, workload, basis, recording
    include_poor: Use also recordings that show too little to be trusted
    seed: Seed of the random numbers that a governor may ask for [default: 0]
    kernel_tree: A kernel tree, whose governors may be named. linux:6.12/teo is one,
        linux:6.12 all of them; linux/teo where it is the only tree.
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "corpus run",
        [folder],
        {
            "--id": (id, "commas"),
            "--split": (split, "commas"),
            "--basis": (basis, "commas"),
            "--machine": (machine, "commas"),
            "--workload": (workload, "commas"),
            "--governor": (governor, "commas"),
            "--baseline": (baseline, "commas"),
            "--per": (per, "commas"),
            "--include-poor": include_poor,
            "--seed": (seed, "commas"),
            "--kernel-tree": (kernel_tree, "again"),
        },
        charts,
        progress,
    )


def corpus_list(
    folder: Value | None = None,
    *,
    id: Value | Iterable[Value] | None = None,
    split: Value | None = None,
    basis: Value | None = None,
    machine: Value | Iterable[Value] | None = None,
    workload: Value | Iterable[Value] | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """List the recordings.

    folder: The folder of the corpus [default: corpus]
    id: Only these recordings, by id
    split: Only this part: train, validation or test
    basis: Only measured, emulated or model. measured: a kernel on a machine;
        emulated: a real kernel on an emulated machine; model: simulated.
    machine: Only these machines
    workload: Only these kinds of load
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "corpus list",
        [folder],
        {
            "--id": (id, "commas"),
            "--split": (split, "commas"),
            "--basis": (basis, "commas"),
            "--machine": (machine, "commas"),
            "--workload": (workload, "commas"),
        },
        charts,
        progress,
    )


def corpus_add(
    trace: Value,
    *,
    to: Value | None = None,
    id: Value | None = None,
    workload: Value,
    basis: Value,
    licence: Value,
    origin: Value,
    command: Value | None = None,
    kernel: Value | None = None,
    counters: Value | Iterable[Value] | None = None,
    split: Value | None = None,
    in_place: bool = False,
    recorded_on: Value | None = None,
    sysfs: Value | None = None,
    kernel_governor: Value | None = None,
    instance: Value | None = None,
    despite_counters: Value | Iterable[Value] | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Grade a recording and add it, scrubbed.

    Refuses what contradicts itself. The corpus gets a tape; the recording stays as
        it is.

    trace: A trace in any supported format, or a tape
    to: The folder of the corpus; made if it is not there [default: corpus]
    id: Its name in the corpus [default: the file's]
    workload: The kind of load
    basis: What was measured: measured, emulated or model
    licence: Its licence, as an SPDX identifier
    origin: Who made it, or where it was published
    command: The command that made it
    kernel: Release of its kernel, if the recording does not say it
    counters: The kernel's counters before and after, if the recording lacks them.
        As for `idlewise score --counters`. The index keeps what was counted.
    split: The part for its machine [default: by the machine's id] train, validation
        or test. All recordings of a machine are in one part.
    in_place: Let the index name the file where it is; copy and scrub nothing
    recorded_on: The machine that was recorded, if the trace lacks it. A platform, a
        platform file or a sysfs dump.
    sysfs: A sysfs dump of the machine that was recorded. `grep . -r
        /sys/devices/system/cpu/cpu*/cpuidle` prints it.
    kernel_governor: The idle governor that the kernel ran. To show how many of its
        choices replay repeats; other:NAME for a governor that idlewise does not
        have.
    instance: The trace instance of a trace.dat [default: the top one] Where it
        holds several.
    despite_counters: Use this CPU although its counters differ. Its idle entries in
        the trace differ from those that the kernel counted.
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "corpus add",
        [trace],
        {
            "--to": (to, "commas"),
            "--id": (id, "commas"),
            "--workload": (workload, "commas"),
            "--basis": (basis, "commas"),
            "--licence": (licence, "commas"),
            "--origin": (origin, "commas"),
            "--command": (command, "commas"),
            "--kernel": (kernel, "commas"),
            "--counters": (counters, "after"),
            "--split": (split, "commas"),
            "--in-place": in_place,
            "--recorded-on": (recorded_on, "commas"),
            "--sysfs": (sysfs, "commas"),
            "--kernel-governor": (kernel_governor, "commas"),
            "--instance": (instance, "commas"),
            "--despite-counters": (despite_counters, "again"),
        },
        charts,
        progress,
    )


def corpus_scrub(
    trace: Value,
    *,
    recorded_on: Value | None = None,
    sysfs: Value | None = None,
    kernel_governor: Value | None = None,
    instance: Value | None = None,
    despite_counters: Value | Iterable[Value] | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Write a tape without names, pids, addresses, absolute times.

    Then replays recording and tape under every governor that ships with idlewise,
        and writes nothing unless all decisions are the same.

    trace: A trace in any supported format, or a tape
    recorded_on: The machine that was recorded, if the trace lacks it. A platform, a
        platform file or a sysfs dump.
    sysfs: A sysfs dump of the machine that was recorded. `grep . -r
        /sys/devices/system/cpu/cpu*/cpuidle` prints it.
    kernel_governor: The idle governor that the kernel ran. To show how many of its
        choices replay repeats; other:NAME for a governor that idlewise does not
        have.
    instance: The trace instance of a trace.dat [default: the top one] Where it
        holds several.
    despite_counters: Use this CPU although its counters differ. Its idle entries in
        the trace differ from those that the kernel counted.
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "corpus scrub",
        [trace],
        {
            "--recorded-on": (recorded_on, "commas"),
            "--sysfs": (sysfs, "commas"),
            "--kernel-governor": (kernel_governor, "commas"),
            "--instance": (instance, "commas"),
            "--despite-counters": (despite_counters, "again"),
        },
        charts,
        progress,
    )


def corpus_verify(
    folder: Value | None = None,
    *,
    id: Value | Iterable[Value] | None = None,
    split: Value | None = None,
    basis: Value | None = None,
    machine: Value | Iterable[Value] | None = None,
    workload: Value | Iterable[Value] | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Compare the files with the hashes of the index.

    folder: The folder of the corpus [default: corpus]
    id: Only these recordings, by id
    split: Only this part: train, validation or test
    basis: Only measured, emulated or model. measured: a kernel on a machine;
        emulated: a real kernel on an emulated machine; model: simulated.
    machine: Only these machines
    workload: Only these kinds of load
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "corpus verify",
        [folder],
        {
            "--id": (id, "commas"),
            "--split": (split, "commas"),
            "--basis": (basis, "commas"),
            "--machine": (machine, "commas"),
            "--workload": (workload, "commas"),
        },
        charts,
        progress,
    )


def corpus_fetch(
    *,
    to: Value | None = None,
    charts: bool = True,
    progress: Progress = None,
) -> Result:
    """Download files that a list names with their hashes.

    Lines of SHA256 URL [NAME]. What has arrived in part is continued; what has
        another hash is refused. curl does the transfer.

    to: The folder to download to; made if it is not there [default: corpus]
    charts: Whether the result keeps what charts and pages are made of.
    progress: Called with (what, done, of); None: a bar on terminals and in
        notebooks; False: nothing.
    """
    return call(
        "corpus fetch",
        [],
        {
            "--to": (to, "commas"),
        },
        charts,
        progress,
    )
