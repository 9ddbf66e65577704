// SPDX-License-Identifier: GPL-2.0-only
//! What can foreign code do wrong, and is it told which governor, what and where?

use crate::common;

use common::{Bench, Parts, TICK_NS, ask, inputs, refused, run, table};
use idlewise_governor::{Build, Governor, GovernorError, GovernorSource, Spec};
use rustix::process::DumpableBehavior;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

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
fn it_has_no_memory_of_ours_to_read_or_to_write() {
    let bench = Bench::new();
    let before = vec![7_u8; 1 << 20];
    let on_the_stack = 7_u8;
    let code: fn() -> GovernorSource = || GovernorSource::named_by_user(Spec::new("./x.c"));
    for at in [before.as_ptr() as usize, &raw const on_the_stack as usize, code as usize] {
        for does in [format!("memset((void *){at}UL, 1, 1);"), format!("return *(volatile char *){at}UL;")] {
            let wild = bench.governor(&Parts { select: &does, ..Parts::default() }.text());
            let said = refused(&wild);
            assert!(said.contains("crashed in select, CPU 5, decision 0 (SIGSEGV"), "{does}: {said}");
        }
    }
    assert!(before.iter().all(|b| *b == 7) && on_the_stack == 7);
    // All that it can reach, upwards from its own data: sooner or later there is nothing.
    let select = "volatile char *p = (char *)&frame_governor_end;\n\n\tfor (;;)\n\t\t*p++ = 1;";
    let text = Parts { top: "static char frame_governor_end;", select, ..Parts::default() }.text();
    let said = refused(&bench.governor(&text));
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

/// A system call without a C library.
const CALL: &str = r#"
static long call(long number, long a, long b, long c)
{
#ifdef __x86_64__
	long result;

	__asm__ volatile("syscall" : "=a" (result) : "0" (number), "D" (a), "S" (b), "d" (c) : "rcx", "r11", "memory");
	return result;
#else
	register long n __asm__("x8") = number;
	register long first __asm__("x0") = a;
	register long second __asm__("x1") = b;
	register long third __asm__("x2") = c;

	__asm__ volatile("svc 0" : "+r" (first) : "r" (n), "r" (second), "r" (third) : "memory");
	return first;
#endif
}
"#;

#[test]
fn one_that_asks_the_kernel_for_anything_is_ended_at_once() {
    let parent = i64::from(std::process::id());
    for (call, first, second) in [
        (libc::SYS_clone, 17, 0),
        (libc::SYS_execve, 0, 0),
        (libc::SYS_kill, parent, 9),
        (libc::SYS_tgkill, parent, parent),
        (libc::SYS_ptrace, 16, parent),
        (libc::SYS_prctl, 1, 0),
        (libc::SYS_io_uring_setup, 1, 0),
        (libc::SYS_openat, -100, 0),
        (libc::SYS_write, 1, 0),
        (libc::SYS_fcntl, 1, 8),
        (libc::SYS_pidfd_open, parent, 0),
        (libc::SYS_pidfd_getfd, 3, 1),
        (libc::SYS_process_vm_writev, parent, 0),
        (libc::SYS_process_vm_readv, parent, 0),
        (libc::SYS_mmap, 0, 4096),
        (libc::SYS_mprotect, 0, 4096),
        (libc::SYS_exit, 0, 0),
    ] {
        let does = format!("call({call}, {first}, {second}, 0);");
        told(
            &Parts { top: CALL, select: &does, ..Parts::default() },
            &["SIGSYS: it made a system call", "in select, CPU 5, decision 0"],
        );
    }
    told(
        &Parts { top: CALL, init: "call(57, 0, 0, 0);", ..Parts::default() },
        &["SIGSYS", "in its initcall"],
    );
    // Before anything of it is called.
    let early =
        format!("{CALL}static __attribute__((constructor)) void early(void)\n{{\n\tcall(57, 0, 0, 0);\n}}\n");
    told(&Parts { top: &early, ..Parts::default() }, &["SIGSYS", "while it was loaded"]);
    // It may end itself, which is no answer.
    let select = format!("call({}, 0, 0, 0);", libc::SYS_exit_group);
    told(
        &Parts { top: CALL, select: &select, ..Parts::default() },
        &["its process ended by itself, with status 0, in select, CPU 5, decision 0"],
    );
}

/// A process without a filter could open the memory of this one.
#[test]
fn where_the_kernel_has_no_filters_the_host_is_not_dumpable() {
    let dumpable = || rustix::process::dumpable_behavior().unwrap();
    let name = "misbehaving_governors::where_the_kernel_has_no_filters_the_host_is_not_dumpable";
    if std::env::var_os("IDLEWISE_TEST_WITHOUT_FILTERS").is_none() {
        run(&Bench::new().governor(&Parts::default().text()), 1).unwrap();
        assert_eq!(dumpable(), DumpableBehavior::Dumpable);
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        let output =
            again.args(["--exact", name]).env("IDLEWISE_TEST_WITHOUT_FILTERS", "yes").output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let setting =
        SeccompCondition::new(0, SeccompCmpArgLen::Qword, SeccompCmpOp::Eq, libc::PR_SET_SECCOMP as u64);
    let setting = SeccompRule::new(vec![setting.unwrap()]).unwrap();
    let rules = [(libc::SYS_prctl, vec![setting]), (libc::SYS_seccomp, Vec::new())];
    let refused = SeccompAction::Errno(libc::EINVAL.unsigned_abs());
    let arch = std::env::consts::ARCH.try_into().unwrap();
    let filter = SeccompFilter::new(rules.into(), SeccompAction::Allow, refused, arch).unwrap();
    seccompiler::apply_filter(&BpfProgram::try_from(filter).unwrap()).unwrap();
    let does = format!("call({}, 0, 0, 0);", libc::SYS_getppid);
    run(&Bench::new().governor(&Parts { top: CALL, select: &does, ..Parts::default() }.text()), 1).unwrap();
    assert_eq!(dumpable(), DumpableBehavior::NotDumpable);
}

#[test]
fn nothing_but_the_shim_can_be_linked() {
    let bench = Bench::new();
    for (declared, used) in [
        ("long write(int, const void *, unsigned long);", "write(1, \"x\", 1);"),
        ("int open(const char *, int, ...);", "open(\"/etc/passwd\", 0);"),
        ("void _exit(int);", "_exit(0);"),
        ("long syscall(long, ...);", "syscall(57);"),
        ("void *malloc(unsigned long);", "return !malloc(1);"),
        ("void *dlsym(void *, const char *);", "return !dlsym(NULL, \"write\");"),
        ("extern char **environ;", "return !environ[0];"),
    ] {
        let text = Parts { top: declared, select: used, ..Parts::default() }.text();
        let path = bench.file("mine.c", &text);
        let said = bench.find(&path, "").unwrap_err().to_string();
        let line = text.lines().position(|line| line.contains(used)).unwrap() + 1;
        let name = declared.split(['(', ';']).next().unwrap().rsplit([' ', '*']).next().unwrap();
        assert!(
            said.contains(&format!("mine.c:{line}: ")) && said.contains(name),
            "{name}, line {line}: {said}"
        );
    }
}

#[test]
fn nothing_of_its_own_stands_in_for_what_its_process_does_besides() {
    let bench = Bench::new();
    for name in [
        "void idlewise_apart(void *control)",
        "void apart(void *) __asm__(\"idlewise_apart@\");\nEXPORTED void apart(void *control)",
    ] {
        let top = format!(
            "#define EXPORTED __attribute__((visibility(\"default\"), used))\nEXPORTED {name}\n{{\n\t{NULL}\n}}\n"
        );
        // It is not called, whether it can be linked or not.
        let path = bench.file("mine.c", &Parts { top: &top, ..Parts::default() }.text());
        if let Ok(governor) = bench.find(&path, "") {
            run(&governor, 10).unwrap();
        }
    }
    if cfg!(target_arch = "x86_64") {
        // The linker takes the section for more of what the loader has to do: to write far beyond the object.
        let top = "__asm__(\".section .rela.data.rel.ro.zz,\\\"a\\\",@progbits\\n.quad 1 << 28, 8, 0\\n.previous\");\n";
        let text = Parts { top, ..Parts::default() }.text();
        let said = bench.find(&bench.file("far.c", &text), "").and_then(|g| run(&g, 1).map(drop));
        assert!(said.unwrap_err().to_string().contains("a relocation at no address"));
    }
}

#[test]
fn one_that_wakes_the_host_again_and_again_is_given_up_all_the_same() {
    // The control block, where the turn comes first, lies so far before the object.
    let top = format!(
        "{CALL}extern const char __ehdr_start[] __attribute__((visibility(\"hidden\")));\n\
         #define TURN ((long)__ehdr_start - 0x120000)\n"
    );
    let select = format!("for (;;)\n\t\tcall({}, TURN, {}, 1);", libc::SYS_futex, libc::FUTEX_WAKE);
    told(
        &Parts { top: &top, select: &select, ..Parts::default() },
        &["does not return", "in select, CPU 5, decision 0", "1 s"],
    );
}

#[test]
fn a_table_of_as_many_parameters_as_fit_is_read_in_no_time() {
    let table = "#include <linux/moduleparam.h>\nstatic char text[4096] = { [0 ... 4094] = 'a' };\nstatic unsigned int v;\n\
        static const struct idlewise_param all[4096] __attribute__((used, section(\"idlewise_params\"), aligned(8))) =\n\
        \t{ [0 ... 4095] = { text, \"uint\", &v, 4, 1 } };\n\
        static const struct idlewise_param_desc told_of[4096] __attribute__((used, section(\"idlewise_param_descs\"), aligned(8))) =\n\
        \t{ [0 ... 4095] = { text, text } };\n";
    let governor = Bench::new().governor(&Parts { top: table, ..Parts::default() }.text());
    run(&governor, 1).unwrap();
}

#[test]
fn an_object_larger_than_its_memory_is_refused() {
    let bench = Bench::new();
    let text = Parts {
        top: "static volatile char large[100 << 20];",
        select: "return large[dev->cpu];",
        ..Parts::default()
    }
    .text();
    let path = bench.file("mine.c", &text);
    let within = |bytes| {
        let workshop = bench.workshop().with_memory(bytes);
        let source = GovernorSource::named_by_user(Spec::new(path.to_str().unwrap()));
        run(&Governor::open_in(&source, &workshop).unwrap(), 1)
    };
    let said = within(64 << 20).unwrap_err().to_string();
    for words in ["takes too much memory", "the limit is 64 MiB", "IDLEWISE_MEMORY"] {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
    assert_eq!(within(1 << 30).unwrap().len(), 2);
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

/// Asking costs time, which is priced: the sleep length is not in a governor's memory before it asks, and what it writes there does not
/// change that it has.
#[test]
fn nobody_asks_for_the_sleep_length_in_secret() {
    let asks = "ktime_t tick;\n\ts64 sleep = tick_nohz_get_sleep_length(&tick);\n\t";
    let choose = "*stop_tick = tick == 3000000;\n\treturn sleep == 5000000 ? 3 : 0;";
    let twice = "tick = 0;\n\tsleep = tick_nohz_get_sleep_length(&tick);\n\t";
    let reads =
        "ktime_t tick = idlewise_env.in.delta_tick_ns;\n\ts64 sleep = idlewise_env.in.sleep_length_ns;\n\t";
    for (select, expected) in [
        (format!("{asks}idlewise_env.asked_sleep_length = false;\n\t{choose}"), (3, true, true)),
        (format!("{asks}{twice}{choose}"), (3, true, true)),
        (format!("{reads}{choose}"), (0, false, false)),
        (format!("ktime_t tick = 0;\n\ts64 sleep = 0;\n\t{choose}"), (0, false, false)),
    ] {
        // Whoever asks elsewhere gets what it has asked for before.
        let reflect = "ktime_t tick;\n\ttick_nohz_get_sleep_length(&tick);";
        let bench = Bench::new();
        let governor = bench.governor(&Parts { select: &select, reflect, ..Parts::default() }.text());
        for build in [Build::Plain, Build::Explaining, Build::Sanitized] {
            let choices = governor.built(build).unwrap().run(|loader| {
                let mut instance = loader.load(TICK_NS)?;
                let slot = instance.add_cpu(0, &table(), 1024)?;
                let ask = |_| {
                    let choice = instance.select(slot, &inputs(5_000_000));
                    instance.reflect(slot, 0, 2000);
                    (choice.index, choice.stop_tick, choice.asked_sleep_length)
                };
                Ok((0..3).map(ask).collect::<Vec<_>>())
            });
            assert_eq!(choices.unwrap(), [expected; 3], "{select}");
        }
    }
}

/// A process that claims to ask over and over gets no more than one answer for each decision.
#[test]
fn who_claims_to_ask_without_end_is_given_up() {
    let select = "for (;;) {\n\t\tktime_t tick;\n\t\ttick_nohz_get_sleep_length(&tick);\n\t}";
    let said = refused(&Bench::new().governor(&Parts { select, ..Parts::default() }.text()));
    assert!(said.contains("does not return"), "{said}");
    let top = "#include <idlewise/apart.h>";
    let select = "ktime_t tick;\n\tfor (;;) {\n\t\tidlewise_env.control->may_ask = 1;\n\t\ttick_nohz_get_sleep_length(&tick);\n\t}";
    let governor = Bench::new().governor(&Parts { top, select, ..Parts::default() }.text());
    // Its answers are whatever it has left, but they come to an end.
    let _any = run(&governor, 20);
}

#[test]
fn constructors_have_as_much_time_together_as_one_call() {
    let top = "static void slow(void)\n{\n\tfor (volatile long i = 0; i < 200000000; i++)\n\t\t;\n}\n\
               static void (*const all[])(void) __attribute__((section(\".init_array\"), used)) = { [0 ... 99] = slow };\n";
    told(
        &Parts { top, ..Parts::default() },
        &["does not return, after 1 s of CPU time: while it was loaded"],
    );
}
