// SPDX-License-Identifier: GPL-2.0-only
//! How what a governor remembers, and what it says of a choice, are shown.

use std::path::Path;

use idlewise_explain::{DecisionAddress, ExplainRequest, explain};
use idlewise_governor::{Value, Variable};
use idlewise_recording::ReplaySetup;
use idlewise_view::explain as view;

#[test]
fn a_long_run_at_the_end_of_a_list_is_counted() {
    let request = ExplainRequest {
        trace: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/mixed.dat"),
        setup: ReplaySetup { platform: Some("pixel6".to_owned()), ..ReplaySetup::default() },
        governor: "menu".to_owned(),
        others: Vec::new(),
        cpu: None,
        which: DecisionAddress::Decision(500),
    };
    let mut report = explain(&request).unwrap();
    let mut list = |numbers: &[i128]| {
        let value = Value::Array(numbers.iter().map(|n| Value::Number(*n)).collect());
        report.explanation.memory = vec![Variable { name: "x".to_owned(), value }];
        let tables = view::explain(&report).tables;
        let memory = tables.iter().find(|t| t.title == "its state before the decision: x").unwrap();
        let [row] = &memory.rows[..] else { panic!("{memory:?}") };
        assert_eq!(row[0], "x");
        row[1].clone()
    };
    assert_eq!(list(&[1, 0, 0]), "1 0 0");
    assert_eq!(list(&[1, 0, 0, 0, 0, 0, 0, 0, 0]), "1 (8 times 0)");
    assert_eq!(list(&[]), "");
}

#[test]
fn times_in_reasons_become_readable() {
    use view::readable;
    assert_eq!(readable("timer in 1200000 ns: state 2 fits"), "timer in 1.20 ms: state 2 fits");
    assert_eq!(readable("a tick (4000000 ns), then 5 nsec"), "a tick (4.00 ms), then 5 nsec");
    assert_eq!(readable("none for 9223372036854775807 ns"), "none for never");
    assert_eq!(readable("-5 ns left"), "-5.00 ns left");
}
