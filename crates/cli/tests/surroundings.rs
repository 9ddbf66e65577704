// SPDX-License-Identifier: GPL-2.0-only
//! Does a command do its work, or say why not, where the reader of its output has gone, or threads and files are limited?

use std::fs;
use std::process::{Command, Stdio};

use crate::misuse::{Desk, data, words};

fn idlewise(desk: &Desk) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_idlewise"));
    command.current_dir(desk.path("."));
    command
}

#[test]
fn the_exit_status_is_that_of_the_result_where_nobody_reads_it() {
    let desk = Desk::new();
    let mixed = data("mixed.dat");
    let crash = "// SPDX-License-Identifier: GPL-2.0-only\n#include <linux/cpuidle.h>\n#include <linux/module.h>\n\
        static int pick(struct cpuidle_driver *drv, struct cpuidle_device *dev, bool *stop_tick)\n\
        {\n\t__builtin_trap();\n}\n\
        static struct cpuidle_governor it = { .name = \"it\", .rating = 42, .select = pick };\n\
        static int start(void)\n{\n\treturn cpuidle_register_governor(&it);\n}\nmodule_init(start);\n";
    desk.write("crash.c", crash);
    let o = desk.run(&["platform", "show", "rk3399", "--toml"]);
    // Without its HZ.
    let doubtful: Vec<String> =
        text(&o.stdout).lines().filter(|l| !l.starts_with("hz")).map(str::to_owned).collect();
    desk.write("doubtful.toml", &doubtful.join("\n"));
    for args in [
        vec!["replay", &mixed, "-g", "menu,./crash.c"],
        vec!["explain", &mixed, "-g", "menu", "--decision", "3", "--others", "./crash.c"],
        vec!["simulate", "timer", "-g", "menu,./crash.c", "--seconds", "0.01", "--repeat", "1"],
        vec!["compare", "menu", "teo", "--trace", &mixed, "--fail-if", "differ > 0%"],
        vec!["platform", "check", "doubtful.toml"],
        vec!["score", &mixed],
        vec!["governors"],
    ] {
        let cache = desk.path("cache");
        let status = |stdout: Stdio| {
            idlewise(&desk).args(&args).env("XDG_CACHE_HOME", &cache).stdout(stdout).output().unwrap().status
        };
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(status(writer.into()).code(), status(Stdio::null()).code(), "{args:?}");
    }
    let bad = idlewise(&desk).args(["platform", "check", "doubtful.toml"]).output().unwrap();
    assert_eq!(bad.status.code(), Some(1), "{}", words(&bad.stderr));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// No thread can have such a stack, so that none can be started, whoever runs the tests.
const STACK: &str = "70368744177664";

#[test]
fn without_threads_the_work_is_done_by_one() {
    let desk = Desk::new();
    let mixed = data("mixed.dat");
    for args in [
        vec!["replay", &mixed, "-g", "menu,teo"],
        vec!["compare", "menu", "teo", "--trace", &mixed],
        vec!["explain", &mixed, "--why-differ", "menu,teo"],
        vec!["simulate", "timer", "-g", "menu,teo", "--seconds", "0.05"],
        vec!["score", &mixed],
    ] {
        let o = idlewise(&desk).args(&args).env("RUST_MIN_STACK", STACK).output().unwrap();
        let said = words(&o.stderr);
        assert_eq!(o.status.code(), Some(0), "{args:?}: {said}");
        assert!(said.contains("no more threads can be started") && said.contains("ulimit -u"), "{said}");
        assert_eq!(text(&o.stdout), text(&desk.run(&args).stdout), "{args:?}");
    }
    let o = idlewise(&desk).args(["governors", "list"]).env("RUST_MIN_STACK", STACK).output().unwrap();
    assert_eq!((o.status.code(), words(&o.stderr).as_str()), (Some(0), ""));
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_that_names_it() {
    let desk = Desk::new();
    let mixed = data("mixed.dat");
    for (args, file) in [
        (format!("info {mixed} -f json -o r.json"), "r.json"),
        (format!("convert {mixed} -o m.txt"), "m.txt"),
        (format!("tape {mixed} -o m.tape"), "m.tape"),
    ] {
        let line = format!("ulimit -f 1; exec {} {args}", env!("CARGO_BIN_EXE_idlewise"));
        let o = Command::new("sh").args(["-c", &line]).current_dir(desk.path(".")).output().unwrap();
        let said = words(&o.stderr);
        assert_eq!(o.status.code(), Some(2), "{args}: {said}");
        assert!(said.contains(&format!("{file}: ")) && said.contains("ulimit -f"), "{args}: {said}");
        assert!(!desk.path(file).exists());
    }
    let left: Vec<_> = fs::read_dir(desk.path(".")).unwrap().flatten().map(|e| e.file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}
