// SPDX-License-Identifier: GPL-2.0-only
//! What does `idlewise boot` say before anything is fetched, built or booted?

use std::fs;
use std::process::{Command, Output};

/// `name` is the command's, or the one that it had.
fn called(name: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_idlewise"))
        .arg(name)
        .args(arguments)
        .env("IDLEWISE_LAB", folder.path())
        .output()
        .unwrap();
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
    assert!(left.is_empty(), "something was fetched: {left:?}");
    output
}

fn boot(arguments: &[&str]) -> Output {
    called("boot", arguments)
}

fn refused(arguments: &[&str]) -> String {
    let output = boot(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

/// What `make lab` calls is right up to the platforms, instead of which others are named here that there are not.
#[test]
fn the_commands_of_make_lab_are_understood() {
    let makefile =
        fs::read_to_string(idlewise_checkout::root().join("Makefile")).unwrap().replace("\\\n", " ");
    let calls: Vec<&str> =
        makefile.lines().filter_map(|line| line.strip_prefix("\t$(IDLEWISE) boot ")).collect();
    assert_eq!(calls.len(), 2, "{calls:?}");
    for call in calls {
        let call = call.replace("pixel6,rk3399", "nope");
        let said = refused(&call.split_whitespace().collect::<Vec<_>>());
        assert!(said.contains("no platform `nope`"), "{call}: {said}");
    }
}

#[test]
fn what_cannot_be_booted_is_refused_before_anything_is_fetched() {
    for (arguments, why) in [
        (&["run", "--governor", "nope"][..], "there is no such governor"),
        (&["run", "--governor", "./nope.c"], "nope.c"),
        (&["run", "--governor", "linux/../menu"], "named linux/NAME"),
        (&["run", "--workload", "nope"], "there are: timer, frames"),
        (&["run", "--workload", "rt-app"], "--rt-app-file"),
        (&["run", "--rt-app-file", "x.json"], "--rt-app-file is for the workload rt-app"),
        (&["run", "--platform", "nope"], "nope"),
        (&["run", "--platform", "rk3399", "--cpus", "7"], "it has 6 CPUs"),
        (&["run", "--platform", "skylake-sp", "--driver", "psci"], "use the synthetic driver"),
        (&["run", "--platform", "rk3399", "--driver", "psci", "--reject", "9"], "only the synthetic driver"),
        (&["run", "--platform", "pixel6,rk3399"], "idlewise boot matrix"),
        (&["run", "--seconds", "0"], "1..=3600"),
        (&["run", "--governor", "teo-util:nope=5"], "nope"),
        (&["run", "--governor", "teo-util:util_threshold_shift=99"], "util_threshold_shift"),
        (&["run", "--output", "Cargo.toml"], "exists"),
        (&["shell", "--platform", "pixel6,rk3399"], "name one platform"),
        (&["run", "--linux", "5.15"], "6.1 or newer"),
        (&["build", "--linux", "6.12.117"], "MAJOR.MINOR"),
        (&["self-test", "--linux", "7", "--kernel-tree", "x"], "cannot be used with"),
        (&["self-test", "--linux", "linux"], "MAJOR.MINOR"),
        (&["self-test", "--workload", "rt-app"], "takes no workload that needs a file"),
        (&["self-test", "--governor", "nope"], "there is no such governor"),
        (&["self-test", "--governor", "teo-util,nope"], "nope: there is no such governor"),
        (&["self-test", "--platform", "nope"], "nope"),
    ] {
        let said = refused(arguments);
        assert!(said.contains(why), "{arguments:?}: {said}");
    }
}

#[test]
fn a_folder_that_is_no_kernel_tree_stays_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let said = refused(&["overlay", folder.path().to_str().unwrap()]);
    assert!(said.contains("no kernel tree"), "{said}");
    assert!(fs::read_dir(folder.path()).unwrap().next().is_none());
}

#[test]
fn the_overlay_says_what_it_wrote_and_what_comes_next() {
    let tree = tempfile::tempdir().unwrap();
    fs::create_dir_all(tree.path().join("drivers/cpuidle/governors")).unwrap();
    fs::write(tree.path().join("drivers/cpuidle/Kconfig"), "if CPU_IDLE\nendif\n").unwrap();
    fs::write(tree.path().join("drivers/cpuidle/governors/Makefile"), "").unwrap();
    let tree = tree.path().to_str().unwrap();
    let output = boot(&["overlay", tree]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        output.status.success() && said.contains("iw-teo-6_1.c") && said.contains("make menuconfig"),
        "{said}"
    );
    let again = String::from_utf8(boot(&["overlay", tree]).stdout).unwrap();
    assert!(again.starts_with("0 files written"), "{again}");
    let out = String::from_utf8(boot(&["overlay", "--remove", tree]).stdout).unwrap();
    assert!(out.contains("are removed"), "{out}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("eco.patch");
    let file = file.to_str().unwrap();
    let said = boot(&["overlay", tree, "--patch", file, "--governor", "eco"]).stdout;
    assert!(String::from_utf8(said).unwrap().contains("git apply"));
    assert!(fs::read_to_string(file).unwrap().contains("+++ b/drivers/cpuidle/governors/eco.c\n"));
    let said = refused(&["overlay", tree, "--patch", file]);
    assert!(said.contains("exists") || said.contains("is there"), "{said}");
    let said = refused(&["overlay", tree, "--governor", "eco"]);
    assert!(said.contains("--patch"), "{said}");
}

#[test]
fn a_folder_that_cannot_be_made_is_named_with_the_way_out() {
    let said = refused(&["build", "--folder", "/proc/idlewise"]);
    assert!(said.contains("/proc/idlewise: ") && said.contains("--folder or IDLEWISE_LAB"), "{said}");
}

#[test]
fn workloads_are_listed() {
    let said = String::from_utf8(boot(&["workloads"]).stdout).unwrap();
    let tests = ["timer", "frames", "pingpong", "idle", "cyclictest", "hackbench", "fio", "rt-app"];
    let programs = ["compile", "compile-serial", "network", "network-light", "network-busy"];
    for name in tests.into_iter().chain(programs) {
        assert!(said.contains(name), "{name}: {said}");
    }
}

#[test]
fn its_old_name_is_understood_and_not_shown() {
    assert_eq!(called("lab", &["workloads"]).stdout, boot(&["workloads"]).stdout);
    let help = Command::new(env!("CARGO_BIN_EXE_idlewise")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("\n  boot ") && !help.contains("  lab"), "{help}");
}
