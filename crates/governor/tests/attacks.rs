// SPDX-License-Identifier: GPL-2.0-only
//! What can a governor that means harm reach? Each row of the table in `docs/reference/untrusted-input.md` is a test here.

use crate::common;

use common::{Bench, Parts, TICK_NS, ask, refused, run};
use idlewise_governor::{Governor, GovernorSource, Spec};

/// System calls without a C library.
const CALL: &str = r#"
static __attribute__((unused)) long call(long nr, long a, long b, long c, long d)
{
#ifdef __x86_64__
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall" : "=a" (ret) : "0" (nr), "D" (a), "S" (b), "d" (c), "r" (r10) : "rcx", "r11", "memory");
	return ret;
#else
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;

	__asm__ volatile("svc #0" : "+r" (x0) : "r" (x8), "r" (x1), "r" (x2), "r" (x3) : "memory");
	return x0;
#endif
}
"#;

/// What a governor that does `does` in select ends with.
fn ends(does: &str) -> String {
    refused(&Bench::new().governor(&Parts { top: CALL, select: does, ..Parts::default() }.text()))
}

/// The error of a file that cannot be made a governor.
fn not_compiled(parts: &Parts<'_>) -> String {
    let bench = Bench::new();
    let path = bench.file("mine.c", &parts.text());
    bench.find(&path, "").map(|_| ()).unwrap_err().to_string()
}

#[test]
fn a_function_of_the_c_library_is_an_error_with_its_line() {
    for (declared, called) in [
        ("long write(int, const void *, unsigned long);", "write(1, \"\", 0);"),
        ("int open(const char *, int);", "open(\"/etc/passwd\", 0);"),
        ("void _exit(int);", "_exit(0);"),
        ("void *malloc(unsigned long);", "*(volatile char *)malloc(1) = *(volatile char *)malloc(2);"),
        ("long syscall(long, ...);", "syscall(39);"),
        ("extern char **environ;", "environ[0][0] = 1;"),
    ] {
        let said = not_compiled(&Parts { top: declared, select: called, ..Parts::default() });
        let name = called.trim_start_matches("*(volatile char *)").split(['(', '[']).next().unwrap();
        assert!(said.contains(name) && said.contains("mine.c:"), "{called}: {said}");
    }
}

#[test]
fn what_compilers_call_by_themselves_is_there() {
    let top = "struct big { u64 words[100]; };\nstatic struct big one, other;\nstatic volatile u64 seven = 7;\n\
               static noinline int differ(const void *a, const void *b, size_t n)\n{\n\treturn memcmp(a, b, n);\n}\n";
    let select = "one = (struct big){ 0 };\n\tone.words[seven] = 9;\n\tother = one;\n\tmemmove(&other.words[1], &other, 792);\n\
                  \tif (differ(&one, &other, 50) || !differ(&one, &other, 800) || other.words[8] != 9)\n\t\treturn 1;\n\
                  \tif ((u64)((unsigned __int128)seven * seven / (seven + 0ULL)) != 7 || (unsigned __int128)seven << 70 >> 70 != 7)\n\
                  \t\treturn 2;\n\tif ((unsigned __int128)1 << (64 + seven) != ((unsigned __int128)128 << 64) / seven * seven + 2)\n\
                  \t\treturn 0;";
    let bench = Bench::new();
    let choices = run(&bench.governor(&Parts { top, select, ..Parts::default() }.text()), 2).unwrap();
    assert!(choices.iter().all(|c| c.0 == 0), "{choices:?}");
}

#[test]
fn a_system_call_of_its_own_ends_it() {
    let numbers = [
        ("its answer, written to a descriptor", libc::SYS_write, "1, (long)\"idlewise answer:\", 16, 0"),
        ("the memory of another", libc::SYS_openat, "-100, (long)\"/proc/self/mem\", 2, 0"),
        ("a descriptor of another", libc::SYS_pidfd_open, "1, 0, 0, 0"),
        ("the same", libc::SYS_pidfd_getfd, "3, 1, 0, 0"),
        ("signals to another", libc::SYS_fcntl, "0, 8, 1, 0"),
        ("a signal", libc::SYS_kill, "1, 9, 0, 0"),
        ("a signal to a thread", libc::SYS_tgkill, "1, 1, 9, 0"),
        ("a process", libc::SYS_clone, "17, 0, 0, 0"),
        ("a program", libc::SYS_execve, "(long)\"/bin/true\", 0, 0, 0"),
        ("tracing", libc::SYS_ptrace, "16, 1, 0, 0"),
        ("memory of another", libc::SYS_process_vm_readv, "1, 0, 0, 0"),
        ("memory", libc::SYS_mmap, "0, 4096, 7, 34"),
        ("code that can be written", libc::SYS_mprotect, "0x400000, 4096, 7, 0"),
        ("a socket", libc::SYS_socket, "2, 1, 0, 0"),
        ("its end, as if all were well", libc::SYS_exit_group, "0, 0, 0, 0"),
        ("to outlive its parent", libc::SYS_prctl, "1, 0, 0, 0"),
        ("another filter", libc::SYS_seccomp, "1, 0, 0, 0"),
        ("to sleep for as long as it likes", libc::SYS_nanosleep, "0, 0, 0, 0"),
        (
            "the same by the call that it has",
            libc::SYS_futex,
            "(long)stop_tick, 0, 1, (long)(long[]){ 0, 50000000 }",
        ),
    ];
    for (what, number, arguments) in numbers {
        let said = ends(&format!("call({number}, {arguments});"));
        assert!(said.contains("SIGSYS") && said.contains("in select, CPU 5, decision 0"), "{what}: {said}");
    }
    let early = format!(
        "{CALL}\nstatic __attribute__((constructor)) void early(void)\n{{\n\tcall({}, 1, 0, 0, 0);\n}}\n",
        libc::SYS_close
    );
    let said = refused(&Bench::new().governor(&Parts { top: &early, ..Parts::default() }.text()));
    assert!(said.contains("SIGSYS") && said.contains("while it was loaded"), "{said}");
}

#[test]
fn no_other_program_runs_in_its_place() {
    // The kernel starts the interpreter that a program names before anything else.
    let top =
        "static const char interpreter[] __attribute__((section(\".interp\"), used)) = \"/bin/true\";\n";
    let bench = Bench::new();
    let path = bench.file("mine.c", &Parts { top, ..Parts::default() }.text());
    let said = bench.find(&path, "").and_then(|g| run(&g, 1).map(|_| ())).unwrap_err().to_string();
    assert!(said.contains("segment of type"), "{said}");
    // Its own beginning.
    let said =
        not_compiled(&Parts { top: "void _start(void)\n{\n\tfor (;;)\n\t\t;\n}\n", ..Parts::default() });
    assert!(said.contains("_start"), "{said}");
}

#[test]
fn choices_are_counted_here() {
    // It answers what was not asked, and says that it has answered more.
    let shared = "volatile u32 *asked = (void *)0x2000000000UL, *answered = (void *)0x2000000080UL;\n\n\t(void)asked;\n\t";
    let said = ends(&format!("{shared}*answered = *asked + 1000;\n\tfor (;;)\n\t\tbarrier();"));
    assert!(said.contains("answered what was not asked"), "{said}");
    // That it has answered nothing.
    let said = ends(&format!("{shared}*answered = 0;\n\tfor (;;)\n\t\tbarrier();"));
    assert!(said.contains("answered what was not asked"), "{said}");
    // It writes all that both see full of ones: choices that are none come back, as many as were asked for.
    let bench = Bench::new();
    let select =
        "for (int i = 136; i < 160; i++)\n\t\t((volatile char *)0x2000000000UL)[i] = -1;\n\treturn -1;";
    let choices = run(&bench.governor(&Parts { select, ..Parts::default() }.text()), 10).unwrap();
    assert_eq!(choices.len(), 20);
    // It answers at once, without having been called for it, and goes on.
    let select = format!("{shared}static int n;\n\n\tif (n++ == 3)\n\t\tfor (;;)\n\t\t\t*answered = *asked;");
    let answers = bench.governor(&Parts { select: &select, ..Parts::default() }.text());
    let choices = run(&answers, 10).unwrap();
    assert_eq!(choices.len(), 20, "they are its choices, by whatever code");
}

#[test]
fn nothing_of_a_recording_is_in_its_memory() {
    // Numbers as a job with a recording has them, here where the job is done.
    let future: Vec<[u64; 3]> =
        (1..4_000).map(|n| [0x1dea_0000_0000 + n, 0x1deb_0000_0000 + n, 0x1dec_0000_0000 + n]).collect();
    // It reads all that there can be: its program, the memory that both see, and its stack up to the environment.
    let top = "static int found;\nstatic void look(const char *from, const char *to)\n{\n\tconst volatile u64 *at;\n\n\
               \tfor (at = (void *)from; (char *)at < to; at++)\n\t\tfound += *at >> 40 == 0x1d && (*at >> 32) >= 0x1dea && (*at >> 32) <= 0x1dec;\n}\n\
               extern const char __ehdr_start[], _end[];\n";
    let select = "char here[8];\n\n\tlook(__ehdr_start, _end);\n\tlook((char *)0x2000000000UL, (char *)0x2000002000UL);\n\
                  \tlook((char *)((unsigned long)here & ~7UL), (char *)(((unsigned long)here | 4095) + 1));\n\treturn found;";
    let bench = Bench::new();
    let governor = bench.governor(&Parts { top, select, ..Parts::default() }.text());
    let seen = governor.run(|loader| {
        let mut instance = loader.load(TICK_NS)?;
        let choices = ask(&mut instance, 5)?;
        Ok((choices, future.iter().map(|f| f[1]).sum::<u64>()))
    });
    let (choices, sum) = seen.unwrap();
    assert!(sum > 0 && choices.iter().all(|c| c.0 == 0), "{choices:?}");
    // What it is told, it does see.
    let select = "return *(volatile u64 *)0x2000000028UL == 1000;";
    let governor = bench.governor(&Parts { select, ..Parts::default() }.text());
    assert!(run(&governor, 1).unwrap().iter().all(|c| c.0 == 1), "its inputs are where the test looks");
}

#[test]
fn it_has_no_file_no_environment_and_one_system_call() {
    let bench = Bench::new();
    let governor = bench.governor(&Parts::default().text());
    let own = std::process::id().to_string();
    let status = governor.run(|loader| {
        let _instance = loader.load(TICK_NS)?;
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let text = std::fs::read_to_string(entry.path().join("status")).unwrap_or_default();
            let is = |key: &str, value: &str| {
                text.lines().any(|l| l.split_once(':').is_some_and(|(k, v)| k == key && v.trim() == value))
            };
            if is("PPid", &own) && is("Seccomp", "2") && is("NoNewPrivs", "1") {
                let files = std::fs::read_dir(entry.path().join("fd")).map_or(0, Iterator::count);
                let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
                found.push((files, environment.len()));
            }
        }
        Ok(found)
    });
    let status = status.unwrap();
    assert!(!status.is_empty() && status.iter().all(|s| *s == (0, 0)), "{status:?}");
}

#[test]
fn one_that_never_ends_is_given_up() {
    // Whatever it tells meanwhile.
    let select = "volatile u32 *stage = (void *)0x2000000088UL;\n\n\tfor (;;)\n\t\t(*stage)++;";
    let said = ends(select);
    assert!(said.contains("does not return, after 1 s of CPU time"), "{said}");
    // It wakes who waits for it, again and again.
    let said = ends(&format!("for (;;)\n\t\tcall({}, 0x2000000080L, 1, 1, 0);", libc::SYS_futex));
    assert!(said.contains("does not return, after 1 s of CPU time"), "{said}");
}

#[test]
fn one_that_answers_ever_so_slowly_is_given_up() {
    // Each answer comes within the patience.
    let select = "volatile long n;\n\n\tfor (n = 0; n < 10000000; n++)\n\t\tbarrier();";
    let bench = Bench::new();
    let slow = bench.governor(&Parts { select, ..Parts::default() }.text());
    let said = run(&slow, 10_000).unwrap_err().to_string();
    assert!(said.contains("ms for each decision, after 4 s of CPU time"), "{said}");
}

#[test]
fn memory_is_what_it_declares() {
    let bench = Bench::new();
    let path = bench.file(
        "mine.c",
        &Parts {
            top: "static volatile char room[1L << 30];\n",
            select: "return room[1 << 29];",
            ..Parts::default()
        }
        .text(),
    );
    let governor = Governor::open_in(
        &GovernorSource::named_by_user(Spec::new(path.to_str().unwrap())),
        &bench.workshop().with_memory(256 << 20),
    )
    .unwrap();
    let said = refused(&governor);
    assert!(
        said.contains("takes too much memory")
            && said.contains("256 MiB")
            && said.contains("IDLEWISE_MEMORY"),
        "{said}"
    );
}

#[test]
fn what_it_writes_over_is_its_own() {
    let bench = Bench::new();
    let before = vec![7_u8; 1 << 20];
    let at = before.as_ptr() as usize;
    let said = refused(&bench.governor(
        &Parts { select: &format!("memset((void *){at}UL, 1, 1 << 20);"), ..Parts::default() }.text(),
    ));
    assert!(said.contains("SIGSEGV") && before.iter().all(|b| *b == 7), "{said}");
    // All that both see, again and again, while others work.
    let wild = Parts { select: "memset((void *)0x2000000080UL, 0x55, 3968);", ..Parts::default() }.text();
    let wild = bench.governor(&wild);
    let good = Bench::new();
    let good = good.governor(&Parts { select: "return 2;", ..Parts::default() }.text());
    for _ in 0..5 {
        match run(&wild, 3) {
            Ok(choices) => assert_eq!(choices.len(), 6),
            Err(e) => assert!(e.is_misbehaviour(), "{e}"),
        }
        assert!(run(&good, 3).unwrap().iter().all(|c| c.0 == 2));
    }
}
