// SPDX-License-Identifier: GPL-2.0-only
//! Is each property found violated where it is, and only there? For each there is a governor that violates it and no other.

use idlewise_check::{CheckReport, CheckRequest, Property, Verdict, check};

use crate::bench::{Bench, Fault, all, has_sanitizers, with};

/// What is found in the governor with `fault`: violations of `property` and of nothing else.
fn only(property: Property, fault: Fault<'_>) -> Option<CheckReport> {
    let report = all(&Bench::new().made(fault));
    if !has_sanitizers(&report) {
        return None;
    }
    assert_eq!(with(&report, Verdict::Violated), [property], "{}: {:?}", fault.select, report.findings);
    let finding = &report.findings[0];
    assert!(finding.story.iter().map(|row| row.times).sum::<u32>() <= 12, "{finding:?}");
    Some(report)
}

fn select(text: &str) -> Fault<'_> {
    Fault { select: text, ..Fault::default() }
}

/// As [`only`], for what a sanitizer finds: in this file, in a line that holds `text`.
fn only_at(property: Property, fault: Fault<'_>, what: &str) {
    let Some(report) = only(property, fault) else { return };
    let finding = &report.findings[0];
    assert!(finding.what.contains(what), "{finding:?}");
    let place = finding.place.as_deref().unwrap();
    assert!(place.contains("made.c:") && !place.ends_with(":0"), "{place}");
}

#[test]
fn nothing_is_found_in_a_governor_that_has_them_all() {
    let report = all(&Bench::new().made(Fault::default()));
    if !has_sanitizers(&report) {
        return;
    }
    assert_eq!(with(&report, Verdict::Held), Property::ALL, "{:?}", report.findings);
    assert!(!report.has_findings() && report.kunit.is_none());
    assert!(report.decisions > 50_000, "{}", report.decisions);
}

#[test]
fn a_state_that_does_not_exist() {
    only(Property::Index, select("if (limit_ns == 0)\n\t\treturn drv->state_count;"));
    only(Property::Index, select("if (limit_ns == 0)\n\t\treturn -1;"));
}

#[test]
fn a_disabled_state() {
    only(
        Property::Disabled,
        select(
            "if (limit_ns == 0 && dev->states_usage[0].disable) {\n\t\t*stop_tick = false;\n\t\treturn 0;\n\t}",
        ),
    );
}

#[test]
fn a_latency_limit_that_is_ignored() {
    let deeper = "for (i = 0; !stopped && i < drv->state_count; i++)\n\t\tif (!dev->states_usage[i].disable && i > idx) {\n\t\t\t*stop_tick = true;\n\t\t\tidx = i;\n\t\t}";
    only(Property::Latency, select(deeper));
}

#[test]
fn a_polling_state_without_the_tick() {
    only(Property::Polling, select("*stop_tick = true;"));
}

#[test]
fn a_shallow_state_for_long() {
    // Only with the tick stopped and the timer beyond two ticks.
    let first = "for (i = 0; stopped && i < drv->state_count; i++)\n\t\tif (!dev->states_usage[i].disable)\n\t\t\treturn i;";
    only(Property::Shallow, select(first));
}

#[test]
fn a_crash() {
    let top = "static DEFINE_PER_CPU(int, calls);";
    let crash = "if (limit_ns == 0 && ++*per_cpu_ptr(&calls, dev->cpu) == 3)\n\t\t*(volatile int *)NULL = 1;";
    let report = all(&Bench::new().made(Fault { top, select: crash, ..Fault::default() }));
    assert_eq!(with(&report, Verdict::Violated), [Property::Crash], "{:?}", report.findings);
    assert!(with(&report, Verdict::Held).is_empty(), "nobody knows: it crashes on every machine");
    let finding = &report.findings[0];
    assert!(finding.what.contains("crashed in select") && finding.what.contains("SIGSEGV"), "{finding:?}");
    // The two calls before, and the one that does not return.
    let last = finding.story.last().unwrap();
    assert_eq!(
        (finding.story.iter().map(|row| row.times).sum::<u32>(), last.state),
        (3, None),
        "{finding:?}"
    );
    // Where it crashes on one machine only, the others show the rest.
    let report =
        all(&Bench::new().made(select("if (drv->state_count == 5)\n\t\t*(volatile int *)NULL = 1;")));
    if has_sanitizers(&report) {
        assert_eq!(with(&report, Verdict::Violated), [Property::Crash], "{:?}", report.findings);
        assert_eq!(report.findings[0].machine.states.len(), 5);
    }
}

#[test]
fn a_crash_in_reflect_shows_what_was_chosen_and_slept() {
    let crash = "if (index > 0)\n\t\t*(volatile int *)NULL = 1;";
    let report = all(&Bench::new().made(Fault { reflect: crash, ..Fault::default() }));
    let finding = &report.findings[0];
    assert!(finding.what.contains("crashed in reflect"), "{finding:?}");
    let last = finding.story.last().unwrap();
    assert!(last.state > Some(0) && last.woken_ns.is_some(), "{finding:?}");
}

/// There the governor has its turn only while the host waits for it, so that the crash is seen before the choice is kept.
#[test]
fn a_crash_in_reflect_shows_the_same_on_one_cpu() {
    let test = "every_property::a_crash_in_reflect_shows_what_was_chosen_and_slept";
    let mut alone = std::process::Command::new("taskset");
    alone.args(["-c", &rustix::thread::sched_getcpu().to_string()]);
    let out = alone.arg(std::env::current_exe().unwrap()).args(["--exact", test]).output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout);
    assert!(out.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn an_endless_loop() {
    // On one machine: each is waited for.
    let forever = select("while (limit_ns == 0 && drv->state_count == 5)\n\t\tbarrier();");
    let report = all(&Bench::new().made(forever).with_patience(1));
    assert_eq!(with(&report, Verdict::Violated), [Property::Crash]);
    assert!(report.findings[0].what.contains("does not return"), "{:?}", report.findings);
}

#[test]
fn arithmetic_that_overflows() {
    let sum = "if (limit_ns == 0) {\n\t\tvolatile int big = 0x7fffffff;\n\n\t\tbig = big + 1;\n\t}";
    only_at(Property::Arithmetic, select(sum), "signed overflow of a sum");
    let zero = "if (limit_ns == 0) {\n\t\tvolatile int none = 40;\n\n\t\tnone = 1 << none;\n\t}";
    only_at(Property::Arithmetic, select(zero), "shift by more bits");
}

#[test]
fn memory_out_of_bounds() {
    // The compiler does not see where the pointer leads.
    let top = "static int table[4];\nstatic volatile int sink;\n#define HIDE(p) __asm__(\"\" : \"+r\" (p))";
    let with = |select| Fault { top, select, ..Fault::default() };
    only_at(Property::Memory, with("i = drv->state_count + 3;\n\tsink = table[i];"), "index out of bounds");
    let pointer = "if (limit_ns == 0) {\n\t\tvolatile int *p = table;\n\n\t\tHIDE(p);\n\t\tsink = p[4];\n\t}";
    only_at(Property::Memory, with(pointer), "next to a variable");
    let local = "if (limit_ns == 0) {\n\t\tint own[3] = { 1, 2, 3 };\n\t\tvolatile int *p = own;\n\n\t\tHIDE(p);\n\t\tsink = p[3];\n\t}";
    only_at(Property::Memory, with(local), "next to its local variables");
    let top = "static volatile int sink;";
    let heap = "if (limit_ns == 0)\n\t\tsink = *(volatile int *)(idlewise_env.per_cpu_offset + 4096);";
    only_at(Property::Memory, Fault { top, select: heap, ..Fault::default() }, "not its own");
    let top = "static int table[4];";
    let copy = "if (limit_ns == 0)\n\t\tmemset(table, 0, sizeof(table) + (drv->state_count > 0));";
    only_at(Property::Memory, Fault { top, select: copy, ..Fault::default() }, "next to a variable");
}

#[test]
fn memory_of_another_cpu() {
    let top = "static DEFINE_PER_CPU(int, calls);";
    let with = |select| Fault { top, select, ..Fault::default() };
    only_at(Property::OtherCpu, with("++*per_cpu_ptr(&calls, !dev->cpu);"), "another CPU's memory");
    only_at(
        Property::OtherCpu,
        with("if (++calls < 0)\n\t\t*stop_tick = false;"),
        "per-CPU variable of no CPU",
    );
    only_at(Property::OtherCpu, with("drv->safe_state_index = idx;"), "driver's table");
    // Not a fault: its own.
    let own = Bench::new().made(with("++*this_cpu_ptr(&calls);"));
    assert!(with_none(&all(&own)));
}

fn with_none(report: &CheckReport) -> bool {
    with(report, Verdict::Violated).is_empty()
}

#[test]
fn a_variable_without_a_value() {
    let top =
        "static int far(int *to, s64 sleep_ns)\n{\n\tif (sleep_ns > 1000)\n\t\t*to = 0;\n\treturn 0;\n}";
    let uninitialised = "{\n\t\tint far_away;\n\n\t\tfar(&far_away, sleep_ns);\n\t\tif (far_away)\n\t\t\t*stop_tick = false;\n\t}";
    let report = only(Property::Uninitialised, Fault { top, select: uninitialised, ..Fault::default() });
    let Some(report) = report else { return };
    assert!(report.findings[0].what.contains("with zeros in local variables it chose"), "{report:?}");
}

#[test]
fn choices_that_nobody_can_repeat() {
    // The time goes on from one copy to the next.
    let top = "static unsigned long clock(void)\n{\n\tunsigned long now;\n\n#ifdef __x86_64__\n\t__asm__ volatile(\"rdtsc\" : \"=a\" (now) : : \"rdx\");\n#else\n\t__asm__ volatile(\"mrs %0, cntvct_el0\" : \"=r\" (now));\n#endif\n\treturn now;\n}\n";
    let select = "if (!stopped && clock() >> 4 & 1)\n\t\t*stop_tick = false;";
    let report = all(&Bench::new().made(Fault { top, select, ..Fault::default() }));
    assert_eq!(with(&report, Verdict::Violated), [Property::Repeatable], "{:?}", report.findings);
    // What depends on nothing known cannot be said to depend on something.
    let unknown = with(&report, Verdict::NotChecked);
    assert!(unknown.ends_with(&[Property::Uninitialised, Property::Independent]), "{unknown:?}");
}

#[test]
fn a_cpu_that_depends_on_another() {
    let fault = Fault {
        top: "static int calls;",
        select: "if (calls++ & 4)\n\t\t*stop_tick = false;",
        ..Fault::default()
    };
    let Some(report) = only(Property::Independent, fault) else { return };
    let story = &report.findings[0].story;
    assert!(story.iter().any(|row| row.cpu == 1) && story.iter().any(|row| row.cpu == 0), "{story:?}");
}

#[test]
fn a_decision_that_takes_too_long() {
    let slow = "if (limit_ns == 0)\n\t\tfor (i = 0; i < 5000; i++)\n\t\t\tbarrier();";
    let Some(report) = only(Property::Cost, select(slow)) else { return };
    assert!(report.findings[0].what.contains("times the most of teo"), "{report:?}");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let governor = Bench::new().made(select("if (limit_ns == 0)\n\t\treturn drv->state_count;"));
    let text = || format!("{:?}", all(&governor));
    assert_eq!(text(), text());
}

#[test]
fn another_round_draws_new_sequences() {
    let governor = Bench::new().made(Fault::default());
    let request = |sequences| CheckRequest {
        governor: governor.clone(),
        properties: vec![Property::Index],
        seed: 1,
        sequences,
    };
    let decisions = |sequences, rounds| check(&request(sequences), |done| done < rounds).unwrap().decisions;
    assert_eq!(decisions(1, 3), 3 * decisions(1, 1));
    // Found in the first round, it is not looked for in the second.
    let fault = select("if (limit_ns == 0)\n\t\treturn drv->state_count;");
    let request = CheckRequest { governor: Bench::new().made(fault), ..request(1) };
    let [one, two] = [1, 2].map(|rounds| check(&request, |done| done < rounds).unwrap());
    assert_eq!((one.findings, one.decisions), (two.findings, two.decisions));
}

#[test]
fn a_counter_of_the_files_own_does_not_pass_for_ours() {
    let top = "#include <linux/moduleparam.h>\nstatic unsigned long own = 1;\n\
        static const struct idlewise_param it __attribute__((used, section(\"idlewise_params\"), aligned(8))) =\n\
        \t{ \"idlewise_blocks\", \"ulong\", &own, 8, 0 };";
    let report = all(&Bench::new().made(Fault { top, ..Fault::default() }));
    let cost = report.properties.iter().find(|p| p.property == Property::Cost).unwrap();
    assert_eq!(cost.verdict, Verdict::NotChecked);
    assert!(cost.why.as_deref().is_some_and(|why| why.contains("count of basic blocks")), "{cost:?}");
}

#[test]
fn nothing_is_held_on_machines_that_are_refused() {
    let bench = Bench::new();
    let text = "#include <linux/cpuidle.h>\n#include <linux/init.h>\n\
        static int on(struct cpuidle_driver *drv, struct cpuidle_device *dev)\n{\n\treturn drv->state_count == 1 ? 0 : -19;\n}\n\
        static int pick(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)\n{\n\
        \treturn drv->state_count - 1;\n}\n\
        static struct cpuidle_governor it = { .name = \"it\", .rating = 42, .enable = on, .select = pick };\n\
        static int __init start(void)\n{\n\treturn cpuidle_register_governor(&it);\n}\npostcore_initcall(start);\n";
    let report = all(&bench.open(&bench.file("picky.c", text)));
    assert_eq!(with(&report, Verdict::Held), [Property::Crash]);
    let why = report
        .properties
        .iter()
        .find(|p| p.property == Property::Disabled)
        .and_then(|p| p.why.clone())
        .unwrap();
    assert!(why.contains("it refuses") && why.contains("ten states"), "{why}");
    assert!(report.machines < 3, "{}", report.machines);
}

#[test]
fn one_that_refuses_to_work_is_an_error() {
    let bench = Bench::new();
    let path = bench.file("none.c", "#include <linux/cpuidle.h>\n#include <linux/init.h>\nstatic int __init none(void)\n{\n\treturn -22;\n}\npostcore_initcall(none);\n");
    let request = CheckRequest {
        governor: bench.open(&path),
        properties: Property::ALL.to_vec(),
        seed: 1,
        sequences: 1,
    };
    let said = check(&request, |_| false).unwrap_err().to_string();
    assert!(said.contains("initcall failed") && said.contains("none.c"), "{said}");
}
