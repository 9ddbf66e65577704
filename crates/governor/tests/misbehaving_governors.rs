// SPDX-License-Identifier: GPL-2.0-only
//! What can foreign code do wrong, and is it told which governor, what and where?

use crate::common;

use common::{Bench, Parts, TICK_NS, ask, inputs, refused, run, table};
use idlewise_governor::GovernorError;

/// All of `words` must be in what asking a governor made of `parts` ends with.
fn told(parts: &Parts<'_>, words: &[&str]) {
    let bench = Bench::new();
    let said = refused(&bench.governor(&parts.text()));
    for word in words.iter().chain(&["mine.c"]) {
        assert!(said.contains(word), "no {word:?} in {said}");
    }
}

const NULL: &str = "*(volatile int *)NULL = 1;";

#[test]
fn a_null_pointer_is_told_with_the_place() {
    let third = "static int n;\n";
    let select = format!("if (dev->cpu == 1 && ++n == 3) {NULL}");
    told(
        &Parts { top: third, select: &select, ..Parts::default() },
        &["crashed in select", "CPU 6", "decision 2", "SIGSEGV"],
    );
    let reflect = format!("if (++n == 3) {NULL}");
    told(
        &Parts { top: third, reflect: &reflect, ..Parts::default() },
        &["crashed in reflect", "CPU 5", "decision 1", "SIGSEGV"],
    );
    told(&Parts { init: NULL, ..Parts::default() }, &["crashed in its initcall", "SIGSEGV"]);
    told(&Parts { enable: NULL, ..Parts::default() }, &["crashed in enable", "CPU 5", "SIGSEGV"]);
}

#[test]
fn code_that_runs_when_it_is_loaded_is_kept_apart_too() {
    let top = format!("__attribute__((constructor)) static void early(void)\n{{\n\t{NULL}\n}}\n");
    told(&Parts { top: &top, ..Parts::default() }, &["crashed while it was loaded", "SIGSEGV"]);
}

#[test]
fn other_ways_to_crash() {
    let top = "static int deeper(int n)\n{\n\tvolatile char room[4096];\n\n\troom[0] = n;\n\treturn deeper(n + 1) + room[0];\n}\n#include <linux/bug.h>\nstatic volatile int zero;";
    told(&Parts { top, select: "return deeper(0);", ..Parts::default() }, &["crashed in select", "SIGSEGV"]);
    told(&Parts { top, select: "BUG();", ..Parts::default() }, &["crashed in select", "SIG"]);
    if cfg!(target_arch = "x86_64") {
        told(
            &Parts { top, select: "return 100 / zero;", ..Parts::default() },
            &["in select", "SIGFPE", "zero"],
        );
    }
}

#[test]
fn memory_that_is_written_over_is_told() {
    // All that it can reach, upwards from its own data: sooner or later there is nothing.
    let select = "volatile char *p = (char *)&frame_governor_end;\n\n\tfor (;;)\n\t\t*p++ = 1;";
    let text = Parts { top: "static char frame_governor_end;", select, ..Parts::default() }.text();
    let said = refused(&Bench::new().governor(&text));
    assert!(said.contains("crashed") && said.contains("SIG"), "{said}");
}

#[test]
fn an_endless_loop_is_given_up() {
    told(
        &Parts { select: "if (dev->cpu == 1)\n\t\tfor (;;)\n\t\t\tbarrier();", ..Parts::default() },
        &["does not return", "in select, CPU 6, decision 0", "1 s"],
    );
    told(&Parts { init: "for (;;)\n\t\tbarrier();", ..Parts::default() }, &["in its initcall"]);
}

#[test]
fn refusals_are_no_crashes() {
    told(&Parts { enable: "return -ENODEV;", ..Parts::default() }, &["enable failed", "CPU 5", "-19"]);
    told(
        &Parts { init: "pr_err(\"not here\\n\");\n\treturn -EINVAL;", ..Parts::default() },
        &["-22", "not here"],
    );
    let bench = Bench::new();
    let text = Parts::default().text().replace("postcore_initcall(frame_init);", "");
    let said = refused(&bench.governor(&text));
    assert!(said.contains("registers no governor"), "{said}");
}

#[test]
fn answers_that_are_no_state_come_back_as_they_are() {
    let bench = Bench::new();
    for wrong in [99, -1] {
        let select = format!("return {wrong};");
        let text = Parts { select: &select, ..Parts::default() }.text();
        let choices = run(&bench.governor(&text), 2).unwrap();
        assert!(choices.iter().all(|c| c.0 == wrong), "{choices:?}");
    }
}

#[test]
fn state_that_cpus_share_is_seen() {
    let bench = Bench::new();
    let shares = |text: &str| {
        let governor = bench.governor(text);
        let seen = governor.run(|loader| {
            let mut instance = loader.load(TICK_NS)?;
            ask(&mut instance, 5)?;
            Ok(instance.keeps_shared_state())
        });
        seen.unwrap()
    };
    let text =
        |top: &str, select: &str, enable: &str| Parts { top, select, enable, ..Parts::default() }.text();
    assert!(shares(&text("static int calls;", "calls++;", "")));
    assert!(shares(&text("static int calls = 5;", "calls++;", "")));
    let own = "static DEFINE_PER_CPU(int, calls);";
    assert!(!shares(&text(own, "(*per_cpu_ptr(&calls, dev->cpu))++;", "")));
    assert!(!shares(&text("static int cpus;", "", "cpus++;")), "set up once for each CPU, then left alone");
    assert!(!shares(&text("", "pr_info(\"%d\\n\", dev->cpu);", "")), "the log is the host's");
}

#[test]
fn a_failing_child_does_not_disturb_the_others() {
    let bench = Bench::new();
    let good = Bench::new();
    let bad = bench.governor(&Parts { select: NULL, ..Parts::default() }.text());
    let good = good.governor(&Parts { select: "return drv->state_count - 1;", ..Parts::default() }.text());
    std::thread::scope(|s| {
        for i in 0..4 {
            let (bad, good) = (&bad, &good);
            s.spawn(move || {
                for _ in 0..20 {
                    if i % 2 == 0 {
                        assert!(matches!(run(bad, 5), Err(GovernorError::Crashed { .. })));
                    } else {
                        assert!(run(good, 5).unwrap().iter().all(|c| c.0 == 3));
                    }
                }
            });
        }
    });
}

#[test]
fn the_one_who_watches_sees_the_same_answers() {
    let bench = Bench::new();
    let select = "*stop_tick = dev->last_residency_ns & 1024;\n\treturn dev->last_state_idx ? 0 : 2;";
    let governor = bench.governor(&Parts { select, ..Parts::default() }.text());
    let apart = run(&governor, 50).unwrap();
    let spec = governor.spec().to_string();
    assert_eq!(governor.name(), spec, "outside of a kernel tree a file is called by its path");
    let mut here = governor.run(|loader| {
        let mut instance = loader.load(TICK_NS)?;
        let slot = instance.add_cpu(0, &table(), 1024)?;
        let _ = instance.select(slot, &inputs(0));
        Ok(instance.registered())
    });
    assert_eq!(here.as_mut().unwrap(), &("frame".to_owned(), 7));
    assert_eq!(apart.len(), 100);
}
