// SPDX-License-Identifier: GPL-2.0-only
//! What can foreign code do wrong, and is it told which governor, what and where?

use crate::common;

use common::{Bench, Parts, TICK_NS, ask, inputs, refused, run, table};
use idlewise_governor::{Governor, GovernorError, GovernorSource, Spec};

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
fn memory_that_is_written_over_is_only_the_childs() {
    let bench = Bench::new();
    let before = vec![7_u8; 1 << 20];
    let at = before.as_ptr() as usize;
    let select = format!("memset((void *){at}UL, 1, 1 << 20);");
    let wild = bench.governor(&Parts { select: &select, ..Parts::default() }.text());
    run(&wild, 3).unwrap();
    assert!(before.iter().all(|b| *b == 7), "the parent's memory was reached");
    // All that it can reach, upwards from its own data: sooner or later there is nothing.
    let select = "volatile char *p = (char *)&frame_governor_end;\n\n\tfor (;;)\n\t\t*p++ = 1;";
    let text = Parts { top: "static char frame_governor_end;", select, ..Parts::default() }.text();
    let said = refused(&bench.governor(&text));
    assert!(said.contains("crashed") && said.contains("SIG"), "{said}");
}

/// Writes over all memory that it shares with another process.
const ON_SHARED_PAGES: &str = r#"
void *fopen(const char *, const char *);
char *fgets(char *, int, void *);
int sscanf(const char *, const char *, ...);
static void wild(void)
{
	unsigned long from, to;
	char line[512], mode[8];
	void *maps = fopen("/proc/self/maps", "r");

	while (fgets(line, sizeof(line), maps))
		if (sscanf(line, "%lx-%lx %7s", &from, &to, mode) == 3 && mode[1] == 'w' && mode[3] == 's')
			memset((void *)from, 1, to - from);
}
"#;

#[test]
fn what_runs_wild_does_not_reach_what_others_share_with_their_children() {
    let bench = Bench::new();
    let text = Parts { select: "for (;;)\n\t\tbarrier();", ..Parts::default() }.text();
    let endless = bench.find(&bench.file("endless.c", &text), "").unwrap();
    let wild = bench.governor(&Parts { top: ON_SHARED_PAGES, select: "wild();", ..Parts::default() }.text());
    let said = std::thread::scope(|scope| {
        let said = scope.spawn(|| refused(&endless));
        while !said.is_finished() {
            run(&wild, 1).unwrap();
        }
        said.join().unwrap()
    });
    assert!(said.contains("in select, CPU 5, decision 0"), "{said}");
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
fn one_that_starts_a_process_or_a_program_or_ends_another_is_ended_at_once() {
    let top = "int fork(void);\nint vfork(void);\nint kill(int, int);\nint getppid(void);\nint system(const char *);\n\
               int execl(const char *, const char *, ...);\n";
    for (does, when) in [
        ("fork();", "in select, CPU 5, decision 0"),
        ("for (;;)\n\t\tfork();", "in select"),
        ("vfork();", "in select"),
        ("system(\"true\");", "in select"),
        ("execl(\"/bin/true\", \"true\", (char *)0);", "in select"),
        ("kill(getppid(), 9);", "in select"),
    ] {
        told(
            &Parts { top, select: does, ..Parts::default() },
            &["SIGSYS: it tried to start a process", when],
        );
    }
    told(&Parts { top, init: "fork();", ..Parts::default() }, &["SIGSYS", "in its initcall"]);
    // By other calls that reach a process, or that let it outlive idlewise.
    let top = "long syscall(long, ...);\nint getppid(void);\n";
    for (call, arguments) in [
        (libc::SYS_tgkill, "getppid(), getppid(), 9"),
        (libc::SYS_tkill, "getppid(), 15"),
        (libc::SYS_rt_sigqueueinfo, "getppid(), 15, 0"),
        (libc::SYS_ptrace, "16, getppid(), 0, 0"),
        (libc::SYS_prlimit64, "getppid(), 7, 0, 0"),
        (libc::SYS_prctl, "1, 0, 0, 0, 0"),
        (libc::SYS_io_uring_setup, "1, 0"),
    ] {
        let does = format!("syscall({call}, {arguments});");
        told(&Parts { top, select: &does, ..Parts::default() }, &["SIGSYS", "in select, CPU 5, decision 0"]);
    }
    // Before anything of it is called.
    let early = "int fork(void);\nstatic __attribute__((constructor)) void early(void)\n{\n\tfork();\n}\n";
    told(&Parts { top: early, ..Parts::default() }, &["SIGSYS", "while it was loaded"]);
}

#[test]
fn one_that_closes_the_way_back_is_told() {
    told(
        &Parts {
            top: "int close(int);\n",
            select: "for (int i = 0; i < 1000; i++)\n\t\tclose(i);\n\tfor (;;)\n\t\tbarrier();",
            ..Parts::default()
        },
        &["closed the way back", "in select, CPU 5, decision 0"],
    );
}

#[test]
fn one_that_floods_the_way_back_is_given_up() {
    let top = "long write(int, const void *, unsigned long);\nstatic char junk[4096];\n";
    // All that it can write to but what it had from the start.
    let select = "for (;;)\n\t\tfor (int i = 3; i < 200; i++)\n\t\t\tif (write(i, junk, sizeof(junk)) > 0)\n\t\t\t\tdev->cpu = dev->cpu;";
    let bench = Bench::new();
    let text = Parts { top, select, ..Parts::default() }.text();
    let path = bench.file("mine.c", &text);
    // Its patience is long: it is not the time that ends it.
    let workshop = bench.workshop().with_patience(1000);
    let floods =
        Governor::open_in(&GovernorSource::named_by_user(Spec::new(path.to_str().unwrap())), &workshop)
            .unwrap();
    let said = refused(&floods);
    assert!(said.contains("wrote into the pipe") && said.contains("in select, CPU 5, decision 0"), "{said}");
}

#[test]
fn one_that_takes_memory_without_end_is_given_up() {
    let top = "void *malloc(unsigned long);\n";
    let select = "for (;;)\n\t\tmemset(malloc(1 << 20), 1, 1 << 20);";
    let bench = Bench::new();
    let path = bench.file("mine.c", &Parts { top, select, ..Parts::default() }.text());
    let workshop = bench.workshop().with_patience(1000).with_memory(256 << 20);
    let grows =
        Governor::open_in(&GovernorSource::named_by_user(Spec::new(path.to_str().unwrap())), &workshop)
            .unwrap();
    let said = refused(&grows);
    for words in ["takes too much memory", "256 MiB", "IDLEWISE_MEMORY", "in select, CPU 5, decision 0"] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    // What it may take, it gets.
    let select = "memset(malloc(100 << 20), 1, 100 << 20);";
    let path = bench.file("mine.c", &Parts { top, select, ..Parts::default() }.text());
    let takes =
        Governor::open_in(&GovernorSource::named_by_user(Spec::new(path.to_str().unwrap())), &workshop)
            .unwrap();
    assert_eq!(run(&takes, 1).unwrap().len(), 2);
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
fn a_large_answer_and_a_panic_of_ours_come_back() {
    let bench = Bench::new();
    let governor = bench.governor(&Parts::default().text());
    let many = governor.run(|_| Ok((0..2_000_000_u32).collect::<Vec<_>>())).unwrap();
    assert_eq!((many.len(), many.last()), (2_000_000, Some(&1_999_999)));
    let said = governor.run::<(), _>(|_| panic!("our own fault")).unwrap_err().to_string();
    assert!(said.contains("our own fault"), "{said}");
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
