// SPDX-License-Identifier: GPL-2.0-only
//! Does the page about the format hold: its example, its distributions, every event?

use std::fs;
use std::path::Path;

use idlewise_workload::{ResourceKind, Workload};

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/workload-format.md");
    fs::read_to_string(path).unwrap()
}

#[test]
fn the_example_loads_as_the_page_says() {
    let page = page();
    let example = page.split("```json\n").nth(1).unwrap().split("```").next().unwrap();
    let workload = Workload::from_text("example.json", example).unwrap_or_else(|e| panic!("{e}"));
    assert!(workload.notes.is_empty(), "{:?}", workload.notes);
    assert_eq!(workload.about, "two threads that draw 60 frames a second");
    assert_eq!(workload.frames[0].deadline_ns, 16_667_000);
    assert!(workload.resources.iter().any(|r| r.kind == ResourceKind::Barrier { parties: 2 }));
}

#[test]
fn every_event_and_distribution_of_the_tables_is_taken() {
    let page = page();
    let cells = |heading: &str| -> Vec<String> {
        let part = page.split(&format!("\n## {heading}\n")).nth(1).unwrap().split("\n## ").next().unwrap();
        let rows = part.lines().filter(|l| l.starts_with("| `"));
        rows.map(|l| l.split(" | ").next().unwrap().trim_start_matches("| ").replace('`', "")).collect()
    };
    let extension = "\"idlewise\": { \"devices\": { \"d\": { \"latency\": 5 } }, \"frames\": { \"f\": \
                     { \"period_us\": 5 } }, \"sources\": { \"s\": { \"arrivals\": { \"periodic\": 5 } } } }";
    let read = |events: &str| {
        let text = format!("{{ {extension}, \"tasks\": {{ \"a\": {{ \"runtime\": 1, {events} }} }} }}");
        Workload::from_text("w.json", &text).unwrap_or_else(|e| panic!("{events}: {e}"))
    };
    let mut events = 0;
    for name in cells("Events").iter().chain(&cells("The extension")).flat_map(|c| c.split(", ")) {
        let (before, value) = match name {
            "timer" => ("", "{ \"ref\": \"t\", \"period\": 5 }"),
            "wait" | "sync" => ("", "{ \"ref\": \"q\", \"mutex\": \"m\" }"),
            "idlewise-read" | "idlewise-write" => ("", "{ \"device\": \"d\", \"bytes\": 512 }"),
            "idlewise-frame-end" => ("\"idlewise-frame-begin\": \"f\", ", "\"f\""),
            "idlewise-frame-begin" => ("", "\"f\""),
            "idlewise-done" => ("\"idlewise-take\": \"s\", ", "\"s\""),
            "idlewise-take" => ("", "\"s\""),
            "fork" => ("", "\"a\""),
            "suspend" | "resume" | "lock" | "unlock" | "signal" | "broad" | "barrier" | "yield"
            | "idlewise-call-rcu" => ("", "\"x\""),
            "about" | "devices" | "frames" | "sources" => continue,
            _ => ("", "5"),
        };
        let workload = read(&format!("{before}\"{name}\": {value}"));
        assert!(workload.tasks[0].phases[0].events.len() >= 2);
        events += 1;
    }
    assert_eq!(events, 28, "the page misses an event, or tells of one too many");
    let distributions = cells("Distributions");
    assert_eq!(distributions.len(), 5);
    for d in distributions.iter().flat_map(|c| c.split(" or ")) {
        read(&format!("\"idlewise-run\": {d}"));
    }
}
