// SPDX-License-Identifier: GPL-2.0-only
//! `idlewise check`: does the exit status say what was found, and is it the same twice?

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use idlewise_boot::{Build, Configuration, KernelTree, LabFolder, Watch};
use serde_json::Value;

use crate::common::{idlewise, words};

/// Exit status, standard output and standard error.
fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let o = idlewise().args(args).output().unwrap();
    (o.status.code(), words(&o.stdout), words(&o.stderr))
}

#[test]
fn the_exit_status_says_whether_something_was_found() {
    let (status, shown, _) = run(&["check", "deepest", "--property", "index,disabled"]);
    assert_eq!(status, Some(0), "{shown}");
    assert!(shown.starts_with("deepest: no violation found\n"), "{shown}");
    let (status, shown, _) = run(&["check", "menu-6.1", "--property", "latency"]);
    assert_eq!(status, Some(1), "{shown}");
    for part in [
        "menu-6.1: violates 1 of 1 properties\n",
        "latency   VIOLATED",
        "== latency: chose state",
        "the machine: ",
        "target residency",
        "the idle periods, from a fresh start",
        "is off",
    ] {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
    let (status, _, said) = run(&["check", "menu-6.2"]);
    assert!(status == Some(2) && said.contains("did you mean `menu-6.1`?"), "{said}");
    let (status, _, said) = run(&["check", "menu", "--property", "diasbled"]);
    assert!(status == Some(2) && said.contains("a similar value exists: 'disabled'"), "{said}");
}

#[test]
fn what_keeps_a_file_from_being_checked_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.c");
    fs::write(&file, "#include \"gov.h\"\n").unwrap();
    let (status, _, said) = run(&["check", file.to_str().unwrap()]);
    assert!(status == Some(2) && !said.contains("shim"), "{said}");
    assert!(said.contains("mine.c:1: there is no \"gov.h\" in the folder of the file"), "{said}");
    assert!(said.contains("copy it there, or name the file in its kernel tree"), "{said}");
    let (status, _, said) = run(&["check", "linux:6.12/teo"]);
    assert!(status == Some(2) && said.contains("with --kernel-tree FOLDER (on Debian, unpack"), "{said}");
}

/// A terminal would obey what it prints, and a verdict be made up.
#[test]
fn a_governor_has_nothing_to_write_with() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("loud.c");
    let text = fs::read_to_string(idlewise_checkout::root().join("docs/guide/example/echo.c")).unwrap();
    let loud = "extern long write(int, const void *, unsigned long);\n\
                static __attribute__((constructor)) void loud(void) { write(1, \"\\033[31m\", 5); }\n";
    fs::write(&file, text + loud).unwrap();
    let (status, shown, said) = run(&["check", file.to_str().unwrap(), "--property", "index"]);
    assert!(status == Some(2) && said.contains("`write` is declared but nowhere defined"), "{shown}{said}");
}

/// The guide's example, which does this first at each decision.
fn echo_that(does: &str) -> String {
    let text = fs::read_to_string(idlewise_checkout::root().join("docs/guide/example/echo.c")).unwrap();
    let begins = "\tint idx = 0, i;\n";
    assert!(text.contains(begins));
    text.replace(begins, &format!("{begins}\n\t{does}\n"))
}

#[test]
#[cfg(target_arch = "x86_64")]
fn a_governor_that_ends_itself_gets_no_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.c");
    let exit_group =
        "__asm__ volatile(\"syscall\" : : \"a\" (231), \"D\" (0) : \"rcx\", \"r11\", \"memory\");";
    fs::write(&file, echo_that(exit_group)).unwrap();
    for (command, ends) in [(&["check"][..], 1), (&["counterexample", "menu"], 2)] {
        let (status, shown, said) = run(&[command, &[file.to_str().unwrap()]].concat());
        assert_eq!(status, Some(ends), "{command:?}: {shown}{said}");
        let all = (shown + &said).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(all.contains("its process ended by itself, with status 0"), "{command:?}: {all}");
    }
}

/// The process of a foreign governor that `parent` started, by the filter of system calls that it has.
fn governors_process(parent: u32) -> Option<u32> {
    let children = |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).ok();
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).ok()?;
    let all = tasks.flatten().filter_map(children).collect::<Vec<_>>().join(" ");
    all.split_whitespace().filter_map(|pid| pid.parse().ok()).find(|pid: &u32| {
        fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|s| s.contains("Seccomp:\t2"))
    })
}

/// Tries until there is something, for ten seconds.
fn soon<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    (0..1000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        look()
    })
}

#[test]
fn a_governors_process_has_no_files_and_ends_with_idlewise() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.c");
    fs::write(&file, echo_that("for (;;)\n\t\t__asm__ volatile(\"\");")).unwrap();
    let mut checking = idlewise();
    checking.arg("check").arg(&file).env("IDLEWISE_PATIENCE", "60");
    let mut checking = checking.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let Some(governor) = soon(|| governors_process(checking.id())) else {
        checking.kill().unwrap();
        checking.wait().unwrap();
        eprintln!("skipped: no process with a filter is seen in /proc here");
        return;
    };
    // Who may not look is refused, who may sees none.
    let files = fs::read_dir(format!("/proc/{governor}/fd")).map_or(0, Iterator::count);
    checking.kill().unwrap();
    checking.wait().unwrap();
    assert_eq!(files, 0);
    let ended = || match fs::read_to_string(format!("/proc/{governor}/stat")) {
        Err(_) => Some(()),
        // Nobody may be there to bury it.
        Ok(stat) => stat.contains(") Z ").then_some(()),
    };
    assert!(soon(ended).is_some(), "{governor} goes on");
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_other_sequences() {
    let json = |seed: &str| run(&["check", "menu-6.1", "-p", "latency", "--seed", seed, "-f", "json"]).1;
    assert_eq!(json("7"), json("7"));
    let [first, second] = ["7", "8"].map(|seed| serde_json::from_str::<Value>(&json(seed)).unwrap());
    assert_eq!(first["properties"], second["properties"]);
    assert_ne!(first["findings"][0]["story"], second["findings"][0]["story"]);
}

#[test]
fn more_seconds_are_no_fewer_decisions() {
    let decisions = |more: &[&str]| {
        let args = [&["check", "shallow", "-p", "index", "-f", "json"], more].concat();
        serde_json::from_str::<Value>(&run(&args).1).unwrap()["decisions"].as_u64().unwrap()
    };
    // On a busy machine a second may be over before the first round is.
    assert!(decisions(&["--seconds", "1"]) >= decisions(&[]));
}

#[test]
fn a_kunit_test_is_written_where_a_kernel_can_show_it() {
    let folder = tempfile::tempdir().unwrap();
    let patch = folder.path().join("found.patch");
    let path = patch.to_str().unwrap();
    let (status, shown, _) = run(&["check", "menu-6.1", "-p", "latency", "--kunit", path]);
    let how = format!(
        "KUnit test: {path}\napply it: git -C TREE apply $(realpath {path})\nrun it: idlewise boot overlay TREE, then "
    );
    assert!(status == Some(1) && shown.contains(&how), "{shown}");
    let text = fs::read_to_string(&patch).unwrap();
    let head = "--- /dev/null\n+++ b/drivers/cpuidle/governors/menu-6_1-check-test.c\n";
    assert!(text.starts_with(head) && text.contains("KUNIT_EXPECT_LE"), "{text}");
    let (status, _, said) = run(&["check", "menu-6.1", "-p", "latency", "--kunit", path]);
    assert!(status == Some(2) && said.contains("found.patch"), "{said}");
    let none = folder.path().join("none.patch");
    let (status, shown, _) = run(&["check", "deepest", "-p", "latency", "--kunit", none.to_str().unwrap()]);
    assert!(status == Some(0) && shown.contains("nothing is written"), "{shown}");
    assert!(!none.exists());
    let (_, shown, _) =
        run(&["check", "menu-6.1", "-p", "latency", "--kunit", "-", "-o", &format!("{path}.json")]);
    assert!(shown.starts_with(head), "{shown}");
}

struct Nobody;

impl Watch for Nobody {
    fn doing(&self, _what: &str) {}

    fn stopped(&self) -> bool {
        false
    }
}

/// As a module of its own, against a prepared build of the tree with the overlay: its Makefile includes a header of ours before
/// each governor's first line, and takes the place of what the governor calls.
#[test]
fn a_kunit_test_compiles_in_a_kernel_without_a_warning() {
    let Some(lab) = std::env::var_os("IDLEWISE_LAB") else {
        eprintln!("skipped: IDLEWISE_LAB names no folder for a kernel tree (make test sets it)");
        return;
    };
    let there = |tool: &str| {
        Command::new("sh")
            .args(["-c", &format!("command -v {tool}")])
            .output()
            .is_ok_and(|o| o.status.success())
    };
    if let Some(tool) =
        ["aarch64-linux-gnu-gcc", "bison", "flex", "bc", "git"].into_iter().find(|tool| !there(tool))
    {
        eprintln!("skipped: {tool} is not installed");
        return;
    }
    let version = idlewise_checkout::kernels_to_compile_in(Path::new(&lab))[0];
    let lab = LabFolder::open(Some(Path::new(&lab))).unwrap();
    let tree = KernelTree::of_debian(&lab, version, &Nobody).unwrap();
    let build = Build::new(&tree, Configuration::Small, &lab, None, &Nobody).unwrap();
    build.compile_overlay().unwrap();
    let copy = tempfile::tempdir().unwrap();
    let inside = "drivers/cpuidle/governors";
    let governors = copy.path().join(inside);
    fs::create_dir_all(&governors).unwrap();
    for file in ["teo.c", "gov.h", "Makefile"] {
        fs::copy(tree.folder().join(inside).join(file), governors.join(file)).unwrap();
    }
    let patch = copy.path().join("found.patch");
    let teo = governors.join("teo.c");
    let (status, _, said) =
        run(&["check", teo.to_str().unwrap(), "-p", "disabled", "--kunit", patch.to_str().unwrap()]);
    assert_eq!(status, Some(1), "{said}");
    let applied = Command::new("git").arg("-C").arg(copy.path()).arg("apply").arg(&patch).output().unwrap();
    assert!(applied.status.success(), "{}", words(&applied.stderr));
    let makefile = fs::read_to_string(governors.join("Makefile")).unwrap();
    assert!(makefile.ends_with("obj-$(CONFIG_KUNIT) += teo-check-test.o\n"), "{makefile}");
    let overlay = tree.folder().join(inside).join("idlewise");
    let kbuild = format!(
        "obj-m += teo-check-test.o\nccflags-y += -I{0} -include {0}/in-governor.h\n",
        overlay.display()
    );
    fs::write(governors.join("Kbuild"), kbuild).unwrap();
    let made = Command::new("make")
        .args(["-s", "W=1", "ARCH=arm64", "CROSS_COMPILE=aarch64-linux-gnu-", "-C"])
        .arg(build.folder())
        .arg(format!("M={}", governors.display()))
        // Nothing was linked here, so no symbol is known.
        .args(["KBUILD_MODPOST_WARN=1", "modules"])
        .env_remove("MAKEFLAGS")
        .output()
        .unwrap();
    let said = words(&made.stderr);
    assert!(made.status.success() && governors.join("teo-check-test.ko").is_file(), "{said}");
    let of_code: Vec<&str> =
        said.lines().filter(|l| l.contains("warning:") || l.contains("MODULE_LICENSE")).collect();
    assert!(of_code.is_empty(), "{said}");
}
