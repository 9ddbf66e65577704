// SPDX-License-Identifier: GPL-2.0-only
//! The answer first: how long, how wide, in which order, and that it hides nothing that changes its meaning.

#![allow(clippy::disallowed_methods, reason = "tests start the command")]

use std::process::Command;

use crate::commands::{data, err, idlewise, out, refused};

const SIX: &str = "menu,teo-6.1,teo-util:util_threshold_shift=5,shallow,teo,oracle";

fn answer(args: &[&str]) -> String {
    let o = idlewise(args);
    assert_eq!(o.status.code(), Some(0), "{args:?}: {}", err(&o));
    let text = out(&o);
    assert!(text.lines().all(|l| l.chars().count() <= 80), "{args:?}: wider than 80 columns:\n{text}");
    assert!(!text.contains('\u{1b}'), "{args:?}: no colour where there is no terminal");
    text
}

#[test]
fn six_governors_fit_a_screen() {
    let mixed = data("mixed.dat");
    for platform in ["pixel6", "skylake-sp", "rk3399", "kvm-guest"] {
        let text = answer(&["replay", &mixed, "--platform", platform, "-g", SIX]);
        assert!(text.lines().count() <= 24, "{platform}: {} lines\n{text}", text.lines().count());
        assert!(text.contains("oracle (bound)") && text.contains("\ntrust: "), "{text}");
        for verdict in ["\nteo-6.1 ", "\nteo ", "\noracle "] {
            assert!(text.contains(verdict), "{verdict}: {text}");
        }
    }
}

#[test]
fn the_other_commands_answer_as_briefly() {
    let (mixed, other) = (data("mixed.dat"), data("sleeploop.dat"));
    for args in [
        &["compare", "-g", "menu,teo-util", &mixed, "--platform", "pixel6"][..],
        &["compare", "menu", "teo-util", "--trace", &mixed, "--platform", "pixel6"],
        &["score", &mixed],
        &["score", &other, "--per", "cpu"],
        &["simulate", "timer", "-g", "menu,teo", "--seconds", "1", "--repeat", "3"],
        &["replay", &mixed, &other, "-g", "menu,teo"],
    ] {
        let text = answer(args);
        assert!(text.lines().count() <= 24, "{args:?}: {} lines\n{text}", text.lines().count());
        assert!(text.contains("trust: "), "{text}");
        let all = out(&idlewise(&[args, &["-v"]].concat()));
        assert!(all.lines().count() > text.lines().count(), "{args:?}");
    }
}

#[test]
fn columns_and_order_are_the_users() {
    let mixed = data("mixed.dat");
    let args = ["replay", &mixed, "--platform", "pixel6", "-g", "menu,teo-util,teo-6.1"];
    let with = |more: &[&str]| answer(&[&args[..], more].concat());
    let text = with(&["--columns", "ticks,latency_max", "--sort", "latency_max"]);
    let order: Vec<&str> = text
        .lines()
        .filter(|l| !l.starts_with("  "))
        .filter_map(|l| l.strip_prefix(" ")?.split_whitespace().next())
        .collect();
    assert_eq!(order, ["governor", "teo-util", "teo-6.1", "menu"], "{text}");
    assert!(text.contains("tick wakes") && !text.contains("too deep"), "{text}");
    refused(&[&args[..], &["--columns", "latency_p98"]].concat(), &["--columns latency_p98", "latency_p99"]);
    refused(&[&args[..], &["--sort", "beauty"]].concat(), &["--sort beauty", "measures are wakeups"]);
}

#[test]
fn long_names_and_narrow_tables_never_wrap() {
    let mixed = data("mixed.dat");
    let long: Vec<String> = (1..9).map(|n| format!("teo-util:util_threshold_shift={n}")).collect();
    let text = answer(&["replay", &mixed, "--platform", "pixel6", "-g", &format!("menu,{}", long.join(","))]);
    assert!(text.contains('…') && text.contains("9 governors on mixed.dat"), "{text}");
    let labelled: Vec<String> =
        (1..9).map(|n| format!("shift{n}@teo-util:util_threshold_shift={n}")).collect();
    let text =
        answer(&["replay", &mixed, "--platform", "pixel6", "-g", &format!("menu,{}", labelled.join(","))]);
    assert!(text.contains("\nshift8 ") && !text.contains('…'), "{text}");
}

#[test]
fn recordings_have_a_row_each_and_are_not_pooled() {
    let (mixed, other) = (data("mixed.dat"), data("sleeploop.dat"));
    let text = answer(&["replay", &mixed, &other, "--platform", "pixel6", "-g", "menu,teo-6.1,teo-util"]);
    for row in ["mixed.dat ", "sleeploop.dat ", "geometric mean ", "median ", "fell:same:rose "] {
        assert_eq!(text.lines().filter(|l| l.trim_start().starts_with(row)).count(), 2, "{row}: {text}");
    }
    assert!(text.contains("too few to show anything of others"), "{text}");
}

#[test]
fn a_mail_is_plain_and_is_not_wrapped() {
    let (mixed, other) = (data("mixed.dat"), data("sleeploop.dat"));
    for args in [
        &["replay", &mixed, "--platform", "pixel6", "-g", SIX][..],
        &["replay", &mixed, &other, "-g", "menu,teo,oracle"],
        &["compare", "-g", "menu,teo-util", &mixed, "--platform", "pixel6"],
        &["score", &mixed],
        &["simulate", "timer", "-g", "menu,teo", "--seconds", "1", "--repeat", "3"],
        &["simulate", "timer", "-g", "menu,teo", "--seconds", "1", "--repeat", "3", "--tasks"],
        &["compare", "-g", "menu,teo-util", &mixed, "--platform", "pixel6", "--per", "cluster"],
        &["reproduce", "walt-ramp"],
        &["diff", &mixed, &other],
        &["advise", &mixed],
        &["info", &mixed],
        &["explain", &mixed, "-g", "menu", "--after", "1"],
    ] {
        let text = answer(&[args, &["--format", "mail"]].concat());
        assert!(text.is_ascii(), "{args:?}: {text}");
        // A long argument, such as a path, is not broken: that would make another of it.
        let long = |l: &&str| l.len() > 76 && l.split_whitespace().all(|word| word.len() < 60);
        assert_eq!(text.lines().find(long), None, "{args:?}: {text}");
        assert!(text.contains("\n--\nidlewise 0.") && text.contains("\ncommand: idlewise "), "{text}");
        let counted = ["replay", "compare", "score", "advise"].contains(&args[0]);
        assert!(!counted || text.contains(" belows"), "{text}");
    }
}

#[test]
fn a_terminal_gets_colours_and_none_of_their_codes_as_text() {
    let mixed = data("mixed.dat");
    let command = format!("{} replay '{mixed}' -p pixel6 -g menu,teo,oracle", env!("CARGO_BIN_EXE_idlewise"));
    let shown = |colours: &str| {
        let mut script = Command::new("script");
        script.args(["-qec", &command, "/dev/null"]).env("TERM", "xterm").env("NO_COLOR", colours);
        String::from_utf8(script.output().unwrap().stdout).unwrap()
    };
    let (coloured, plain) = (shown(""), shown("1"));
    assert!(coloured.contains("\u{1b}[") && !coloured.contains("u001b"), "{coloured:?}");
    // On a busy machine progress is shown before, and its line cleared.
    let plain = plain.replace("\u{1b}[2K", "");
    assert!(!plain.contains('\u{1b}') && plain.contains("oracle (bound)"), "{plain:?}");
}

#[test]
fn whether_the_order_holds_is_said_in_every_form() {
    let mixed = data("mixed.dat");
    let asked = ["replay", &mixed, "-p", "skylake-sp", "-g", "menu,teo"];
    let said = |more: &[&str]| out(&idlewise(&[&asked[..], more].concat()));
    assert!(!said(&[]).contains("the order holds"), "it was not asked");
    for form in ["table", "mail", "json"] {
        let text = said(&["--sensitivity", "-f", form]).replace('\n', " ");
        assert!(text.contains("the order holds for all sleep lengths"), "{form}: {text}");
    }
    assert!(said(&[]).contains("energy is relative"));
}
