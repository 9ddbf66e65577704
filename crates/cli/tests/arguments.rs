// SPDX-License-Identifier: GPL-2.0-only
//! Does a mistyped argument get an answer that names what was probably meant, and nothing that hides it?

use std::fs;
use std::os::unix::fs::symlink;

use crate::misuse::{Desk, data, repository, words};

#[test]
fn an_unknown_name_gets_the_nearest_one_and_no_list() {
    let desk = Desk::new();
    let mixed = data("mixed.dat");
    let golden = data("golden/closed/teo-6.3/intel_skl__util__hz1000__s7073.csv.gz");
    for (args, meant, list) in [
        (vec!["ab", "--governor", "menu,teo", "--load", "tmier"], "timer", "ping-pong"),
        (vec!["advise", "--load", "frame"], "frames", "ping-pong"),
        (vec!["simulate", "frames", "--signal", "plet"], "pelt", "walt-rfc"),
        (vec!["simulate", "frames", "--cpufreq", "schedutl"], "schedutil", "interactive"),
        (vec!["simulate", "frames", "-g", "menu,teo", "-b", "tteo"], "teo", "menu"),
        (vec!["simulate", "fraems"], "frames", "pingpong"),
        (vec!["simulate", "frames", "--platform", "pixl6"], "pixel6", "rk3399"),
        (vec!["drive", "--signal", "plet", "--golden", &golden], "pelt", "pelt-6.1"),
        (vec!["replay", &mixed, "-g", "menu,teo", "-b", "tteo"], "teo", "menu"),
        (vec!["replay", &mixed, "-g", "mneu"], "menu", "haltpoll"),
        (vec!["replay", &mixed, "-g", "menu", "--platform", "pixel6", "--cluster", "litle"], "LITTLE", "BIG"),
        (vec!["compare", "mneu", "teo", "--trace", &mixed], "menu", "haltpoll"),
        (vec!["reproduce", "rk3399-foi"], "rk3399-fio", "walt-ramp"),
        (vec!["boot", "run", "-g", "mneu", "--folder", "lab"], "menu", "haltpoll"),
        (vec!["boot", "run", "-w", "tiemr", "--folder", "lab"], "timer", "cyclictest"),
    ] {
        let said = desk.refused(&args, &[&format!("did you mean `{meant}`")]);
        assert!(!said.contains(list), "{args:?}: {said}");
    }
    for (args, expected) in [
        (vec!["replay", &mixed, "-g", "xxxxxx"], vec!["`idlewise governors` lists them", "./xxxxxx.c"]),
        (vec!["simulate", "frames", "--platform", "qqqqq"], vec!["`idlewise platform list`"]),
        (vec!["reproduce", "qqqqq"], vec!["`idlewise reproduce --list`"]),
        (vec!["simulate", "frames", "--signal", "qqqqq"], vec!["there are: pelt, walt"]),
    ] {
        desk.refused(&args, &expected);
    }
}

#[test]
fn an_empty_item_of_a_list_is_refused_by_its_position() {
    let desk = Desk::new();
    let mixed = data("mixed.dat");
    for (args, given, item) in [
        (vec!["replay", &mixed, "-g", "menu,,teo"], "--governor menu,,teo", 2),
        (vec!["replay", &mixed, "-g", ","], "--governor ,", 1),
        (vec!["replay", &mixed, "-g", "menu,"], "--governor menu,", 2),
        (vec!["simulate", "frames", "--cpufreq", ",schedutil"], "--cpufreq ,schedutil", 1),
        (vec!["simulate", "frames", "--signal", "pelt,"], "--signal pelt,", 2),
        (vec!["convert", &mixed, "-o", "x.perfetto-trace", "-g", "menu,"], "--governor menu,", 2),
        (vec!["explain", &mixed, "-g", "menu", "--after", "1", "--others", "teo,"], "--others teo,", 2),
        (vec!["explain", &mixed, "--decision", "1", "-g", "menu,"], "--governor menu,", 2),
        (vec!["explain", &mixed, "--why-differ", "menu,,teo"], "--why-differ menu,,teo", 2),
        (vec!["ab", "--governor", "menu,,teo", "--load", "timer"], "--governor menu,,teo", 2),
        (vec!["advise", "--trace", &mixed, "--also", "menu,"], "--also menu,", 2),
        (vec!["boot", "run", "--folder", "lab", "-g", "menu,"], "--governor menu,", 2),
        (vec!["boot", "matrix", "--folder", "lab", "-p", "pixel6,,rk3399"], "--platform pixel6,,rk3399", 2),
        (vec!["boot", "matrix", "--folder", "lab", "-w", "timer,"], "--workload timer,", 2),
    ] {
        desk.refused(&args, &[&format!("{given}: item {item} is empty")]);
    }
    desk.refused(&["replay", &mixed, "-g", ""], &["--governor names none"]);
}

#[test]
fn two_results_that_are_one_file_are_refused_before_the_work() {
    let desk = Desk::new();
    fs::create_dir(desk.path("real")).unwrap();
    symlink(desk.path("real"), desk.path("link")).unwrap();
    let simulate = ["simulate", "timer", "-g", "menu", "--seconds", "0.01"];
    for (trace, output) in [
        ("f.txt", "f.txt"),
        ("f.txt", "./f.txt"),
        ("real/f.txt", "link/f.txt"),
        ("f.perfetto-trace", "f.toml"),
    ] {
        let args = [&simulate[..], &["--trace", trace, "-o", output]].concat();
        desk.refused(&args, &["--write-trace", &format!("--output {output} are the same file"), "name two"]);
        assert!(!desk.path(trace).exists() && !desk.path(output).exists(), "{trace} {output}");
    }
    for json in ["r.dat", "./r.dat", "r.toml", "r.inputs.csv"] {
        let args = ["record", "--inputs", "-o", "r.dat", "--json", json, "--", "true"];
        desk.refused(&args, &[&format!("--json {json} and"), "are the same file"]);
    }
    desk.done(&[&simulate[..], &["--trace", "f.txt", "-o", "g.txt"]].concat());
}

#[test]
fn what_a_command_reads_is_not_written_over_even_when_asked_to() {
    let desk = Desk::new();
    for (from, to) in [("mixed.dat", "m.dat"), ("mixed.toml", "m.toml")] {
        fs::copy(data(from), desk.path(to)).unwrap();
    }
    let [mine, machine] = ["mine.c", "machine.toml"].map(|name| {
        fs::write(desk.path(name), "mine").unwrap();
        name
    });
    let text = ["--to", "text", "--force", "-o"];
    for (args, what) in [
        ([&["convert", "m.dat"], &text[..], &["m.dat"]].concat(), "the trace itself"),
        ([&["convert", "m.dat"], &text[..], &["m.toml"]].concat(), "what belongs to the trace"),
        (vec!["tape", "m.dat", "--force", "-o", "m.toml"], "what belongs to the trace"),
        (
            ["convert", "m.dat", "-g", "./mine.c:x=1", "--to", "perfetto", "--force", "-o", mine].to_vec(),
            "what the command reads",
        ),
        (
            [&["convert", "m.dat", "-g", "menu", "--recorded-on", machine], &text[..], &[machine]].concat(),
            "what the command reads",
        ),
    ] {
        desk.refused(&args, &[&format!("is {what}, which would be lost")]);
    }
    assert_eq!([mine, machine].map(|name| fs::read_to_string(desk.path(name)).unwrap()), ["mine", "mine"]);
}

#[test]
fn one_file_given_twice_is_refused() {
    let desk = Desk::new();
    let golden = data("golden/closed/teo-6.3/intel_skl__util__hz1000__s7073.csv.gz");
    let decisions = data("lab/teo-util-timer.dat");
    let mixed = data("mixed.dat");
    symlink(&golden, desk.path("again.csv.gz")).unwrap();
    for args in [
        vec!["drive", "-g", "teo-util", "--golden", &golden, &golden],
        vec!["drive", "-g", "teo-util", "--golden", &golden, "again.csv.gz"],
        vec!["drive", "-g", "teo-util", "--decisions", &decisions, &decisions],
        vec!["simulate", "frames", "--beside", &mixed, &mixed],
        vec!["replay", &mixed, &mixed],
        vec!["compare", "menu", "teo", "--trace", &mixed, &mixed],
    ] {
        desk.refused(&args, &["which would count twice: name it once"]);
    }
}

#[test]
fn a_file_of_another_kind_is_described_as_what_it_is() {
    let desk = Desk::new();
    desk.write("empty.dat", "");
    desk.write("white.dat", "\n \n");
    let said = desk.refused(&["info", "empty.dat"], &["empty.dat: the file is empty"]);
    assert!(!said.contains("side-car"), "{said}");
    desk.refused(&["info", "white.dat"], &["nothing but white space"]);
    let mixed = data("mixed.dat");
    let line = ["--line", "3", "-g", "menu"];
    let said = desk.refused(
        &[&["explain", "--decisions", &mixed][..], &line].concat(),
        &["mixed.dat: expected a table of decisions (.csv), found a binary file", "--decision"],
    );
    assert!(!said.contains("utf-8"), "{said}");
    desk.copy(&mixed, "named.csv");
    desk.refused(&[&["explain", "--decisions", "named.csv"][..], &line].concat(), &["found a binary file"]);
}

#[test]
fn a_number_out_of_its_range_is_refused_with_the_range() {
    let desk = Desk::new();
    let mixed = data("mixed.dat");
    for (args, expected) in [
        (vec!["simulate", "frames", "--hz", "7"], vec!["--hz", "24 to 1200"]),
        (vec!["simulate", "frames", "--hz", "-7"], vec!["--hz", "24 to 1200"]),
        (vec!["replay", &mixed, "--hz", "99999999999"], vec!["--hz", "24 to 1200"]),
        (vec!["simulate", "frames", "--seed", "-1"], vec!["'-1'", "--seed", "a whole number, 0 or more"]),
        (vec!["simulate", "frames", "--seed", "99999999999999999999"], vec!["--seed", "too large"]),
        (vec!["simulate", "frames", "--repeat", "-1"], vec!["'-1'", "--repeat", "a whole number"]),
        (vec!["simulate", "frames", "--cpus", "-1"], vec!["--cpus", "1..=1024"]),
        (vec!["simulate", "frames", "--seconds", "-1"], vec!["--seconds", "expected seconds"]),
        (vec!["explain", &mixed, "-g", "menu", "--decision", "-3"], vec!["--decision", "0 or more"]),
        (
            vec!["ab", "--governor", "menu,teo", "--load", "timer", "--seed", "-1"],
            vec!["--seed", "0 or more"],
        ),
    ] {
        let said = desk.refused(&args, &expected);
        assert!(!said.contains("tip:"), "{args:?}: {said}");
    }
    // What follows -- is the command's own.
    let o = desk.run(&["ab", "--governor", "menu,teo", "--root", "nowhere", "--", "-1"]);
    assert!(!words(&o.stderr).contains("0 or more"), "{}", words(&o.stderr));
}

#[test]
fn a_load_that_advice_would_not_run_is_refused() {
    let desk = Desk::new();
    let mixed = data("mixed.dat");
    for option in [vec!["--no-ab"], vec!["--ab-session", "ab-1"], vec!["--root", "."]] {
        for load in [vec!["--load", "timer"], vec!["--", "true"]] {
            let args = [&["advise", "--trace", &mixed], &option[..], &load].concat();
            desk.refused(&args, &["--trace gives the recording", "leave the load out"]);
        }
    }
}

#[test]
fn letters_that_changed_their_meaning_name_the_new_form_and_old_words_still_work() {
    let desk = Desk::new();
    let mixed = data("mixed.dat");
    desk.refused(&["record", "-f"], &["-f is --format in all commands", "--force"]);
    desk.refused(
        &["top", "--once", "-g", "cluster"],
        &["-g is --governor in all commands", "--group cluster"],
    );
    // The arguments are understood: what is refused is said of their values.
    desk.refused(&["ab", "--governors", "menu,teo", "--load", "tmier"], &["did you mean `timer`"]);
    desk.refused(&["compare", "mneu", "teo", "--trace", &mixed], &["did you mean `menu`"]);
    desk.refused(&["advise", "--trace", &mixed, "--also", "menu,"], &["--also menu,"]);
    desk.refused(&["advise", &mixed, "--trace", &mixed], &["cannot be used with"]);
}

#[test]
fn the_help_of_every_command_is_short_and_the_long_one_has_all() {
    let desk = Desk::new();
    let lines = |args: &[&str]| desk.run(args).stdout.iter().filter(|b| **b == b'\n').count();
    assert!(lines(&["--help"]) <= 46);
    for command in ["replay", "compare", "simulate", "ab", "advise", "record", "explain"] {
        let (short, long) = (lines(&[command, "--help"]), lines(&["help", command]));
        assert!(short < 80 && long > short + 20, "{command}: {short} and {long} lines");
    }
}

#[test]
fn governors_of_kernel_trees_are_named_by_the_folder_and_labelled() {
    let desk = Desk::new();
    for (tree, governors) in [("a/linux", ["shallow", "deepest"]), ("b/linux", ["shallow", "ladder"])] {
        desk.write(
            &format!("{tree}/Makefile"),
            "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 9\nEXTRAVERSION =\n",
        );
        for file in governors.map(|g| format!("{g}.c")).into_iter().chain(["governor.h".to_owned()]) {
            let to = format!("{tree}/drivers/cpuidle/governors/{file}");
            desk.copy(&repository(&format!("governors/{file}")), &to);
        }
    }
    let mixed = data("mixed.dat");
    let replay = |list: &str| {
        let args = ["replay", &mixed, "-p", "pixel6", "-f", "csv", "-g", list];
        desk.done(&args);
        String::from_utf8(desk.run(&args).stdout).unwrap()
    };
    let named = |csv: &str| -> Vec<String> {
        let column = csv.lines().next().unwrap().split(',').position(|c| c == "governor").unwrap();
        csv.lines().skip(1).map(|l| l.split(',').nth(column).unwrap().to_owned()).collect()
    };
    assert_eq!(named(&replay("base@./a/linux/shallow,patched@./b/linux/shallow")), ["base", "patched"]);
    assert_eq!(
        named(&replay("base@./a/linux,mine@./b/linux/ladder")),
        ["base-deepest", "base-shallow", "mine"]
    );
    // The same choices as the file's by its path.
    let path = replay("base@./a/linux/drivers/cpuidle/governors/shallow.c");
    assert_eq!(replay("base@./a/linux/shallow"), path);
    desk.refused(
        &["replay", &mixed, "-g", "./a/linux/shalow"],
        &["has none of that name; it has: deepest, shallow"],
    );
    desk.refused(&["compare", &mixed, "-g", "./a/linux,./b/linux"], &["expected two governors, got 4"]);
    desk.done(&["counterexample", "./a/linux/shallow", "mine@./b/linux/ladder", "--rounds", "10"]);
}
