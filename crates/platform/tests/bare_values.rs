// SPDX-License-Identifier: GPL-2.0-only
//! Are the bare values of `cat state*/*` assigned to their states, by any kernel's files, and does anything else cause no panic?

use idlewise_platform::{CatDump, SysfsDump};
use proptest::prelude::*;

/// Two states as a kernel prints them; `files` of each, in order.
fn printed(files: &[&str]) -> String {
    let value = |file: &str, state: usize| match file {
        "name" => ["POLL", "haltpoll idle"][state].to_string(),
        "desc" => ["CPUIDLE CORE POLL IDLE", "MWAIT 0x00"][state].to_string(),
        "default_status" => ["enabled", "disabled"][state].to_string(),
        "above" => (11 + state).to_string(),
        "below" => (21 + state).to_string(),
        "rejected" => (31 + state).to_string(),
        "usage" => (41 + state).to_string(),
        "time" => (51 + state).to_string(),
        "latency" => (61 + state).to_string(),
        "residency" => (71 + state).to_string(),
        "power" => "4294967295".to_string(),
        _ => "0".to_string(),
    };
    (0..2).flat_map(|state| files.iter().map(move |f| value(f, state) + "\n")).collect()
}

const TODAY: [&str; 12] = [
    "above",
    "below",
    "default_status",
    "desc",
    "disable",
    "latency",
    "name",
    "power",
    "rejected",
    "residency",
    "time",
    "usage",
];

fn without(gone: &[&str]) -> Vec<&'static str> {
    TODAY.into_iter().filter(|f| !gone.contains(f)).collect()
}

fn one_look(text: &str) -> SysfsDump {
    let cat = CatDump::parse(text, "x").unwrap();
    let count = cat.parts.iter().map(Vec::len).sum();
    CatDump::look(&cat.parts, &CatDump::shell_order(count))
}

#[test]
fn every_kernels_number_of_values_is_known() {
    let gone: [&[&str]; 5] = [
        &[],
        &["rejected"],
        &["rejected", "default_status"],
        &["rejected", "default_status", "above", "below"],
        &["rejected", "default_status", "above", "below", "residency"],
    ];
    for gone in gone {
        let files = without(gone);
        let look = one_look(&printed(&files));
        let states = &look.cpus[&None];
        assert_eq!(states.len(), 2, "{} values", files.len());
        let deep = &states[&1];
        assert_eq!(deep.name.as_deref(), Some("haltpoll idle"));
        assert_eq!((deep.usage, deep.time_us, deep.latency_us), (Some(42), Some(52), Some(62)));
        let there = |file: &str, n: u64| files.contains(&file).then_some(n);
        assert_eq!((deep.above, deep.below), (there("above", 12), there("below", 22)));
        assert_eq!((deep.rejected, deep.residency_us), (there("rejected", 32), there("residency", 72)));
        assert_eq!(deep.disabled_by_default, there("default_status", 1).map(|_| true));
    }
}

#[test]
fn cpus_begin_where_a_name_is_there_again() {
    let text = printed(&TODAY).repeat(12);
    let look = one_look(&text);
    let shell: Vec<u32> = look.cpus.keys().map(|c| c.unwrap()).collect();
    assert_eq!(shell, (0..12).collect::<Vec<_>>());
    // The third of the text is cpu10.
    assert_eq!(CatDump::shell_order(12)[2], Some(10));
    assert!(look.cpus.values().all(|states| states.len() == 2));
}

#[test]
fn a_mail_around_it_does_no_harm() {
    let text = printed(&TODAY);
    let mut lines: Vec<&str> = text.lines().collect();
    // There a shell complains, when what it prints is copied from a terminal.
    lines.insert(10, "cat: cpu0/cpuidle/state0/s2idle: Is a directory");
    let quoted: String = lines.iter().map(|l| format!("> > {l}\r\n")).collect();
    let mail = format!("Hi,\n\n$ cat cpu0/cpuidle/state*/*\n{quoted}\n-- \nA. Person\n");
    let cat = CatDump::parse(&mail, "x").unwrap();
    assert_eq!((cat.parts.len(), cat.parts[0].len(), cat.parts[0][0].len()), (1, 1, 2));
    assert_eq!(cat.foreign_lines, 4);
    let apart = format!("before\n{0}\nafter\n{0}", printed(&TODAY));
    let cat = CatDump::parse(&apart, "x").unwrap();
    assert_eq!((cat.parts.len(), cat.foreign_lines), (2, 2));
}

#[test]
fn what_holds_no_states_is_refused_with_what_to_record() {
    for text in ["", "\n\n", "1\n2\n3\n", "Dear list,\n", &"7\n".repeat(1000)] {
        let error = CatDump::parse(text, "mail.txt").unwrap_err().to_string();
        assert!(
            error.contains("mail.txt") && error.contains("cat state*/*") && error.contains("grep"),
            "{error}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn any_lines_are_survived(lines in prop::collection::vec(
        prop_oneof![
            Just("enabled".to_string()), Just("POLL".to_string()), Just(String::new()), "[0-9]{1,25}",
            "[ -~]{0,12}", any::<String>(),
        ], 0..200)) {
        if let Ok(cat) = CatDump::parse(&lines.join("\n"), "x") {
            let states: usize = cat.parts.iter().flatten().map(std::collections::BTreeMap::len).sum();
            prop_assert!(states > 0 && states * 7 <= lines.join("\n").lines().count());
        }
    }

    #[test]
    fn a_dump_with_a_line_lost_or_doubled_is_refused(at in 0usize..48, double in any::<bool>()) {
        let text = printed(&TODAY).repeat(2);
        let mut lines: Vec<&str> = text.lines().collect();
        let line = lines.remove(at);
        if double {
            lines.insert(at, line);
            lines.insert(at, line);
        }
        let error = CatDump::parse(&lines.join("\n"), "x").unwrap_err().to_string();
        prop_assert!(error.contains("belong to no state"), "{error}");
    }
}

#[test]
fn a_list_of_cpus_ends_with_the_greatest_number() {
    assert_eq!(
        idlewise_platform::cpu_list(&[0, 2, 3, u32::MAX - 1, u32::MAX]),
        "0,2-3,4294967294-4294967295"
    );
    assert_eq!(idlewise_platform::cpu_list(&[u32::MAX, 0]), "4294967295,0");
}

#[test]
fn a_counter_beyond_any_machine_s_is_none() {
    for counter in ["11", "21", "31", "41", "51"] {
        let text = printed(&TODAY).replacen(&format!("\n{counter}\n"), "\n18446744073709551615\n", 1);
        let text = if counter == "11" { text.replacen("11\n", "18446744073709551615\n", 1) } else { text };
        assert!(text.contains("18446744073709551615"), "{text}");
        let said = CatDump::parse(&text, "x").unwrap_err().to_string();
        assert!(said.contains("numbers belong to no state"), "{counter}: {said}");
    }
}
