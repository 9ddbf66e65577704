// SPDX-License-Identifier: GPL-2.0-only
use idlewise_study::compare::{Cost, PartingCost};

/// How the name of a state is shown.
fn short_name(name: &str) -> String {
    let parting = PartingCost {
        kind: "state".to_owned(),
        a_state: Some(name.to_owned()),
        b_state: Some("B".to_owned()),
        a_keeps_tick: None,
        cost: Cost::default(),
    };
    parting.words(["a", "b"]).strip_suffix(" -> B").unwrap().to_owned()
}

#[test]
fn names_of_a_state_are_shortened_to_what_they_share() {
    let names = ["WFI", "cpuoff-l/cpuoff-m/cpuoff-b", "C1/retention", "", "c2/c2-big"];
    let short = ["WFI", "cpuoff-*", "C1/retention", "", "c2/c2-big"];
    assert_eq!(names.map(short_name), short);
}
