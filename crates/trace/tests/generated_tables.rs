// SPDX-License-Identifier: GPL-2.0-only
//! Are the committed tables what their generators make?

use std::path::Path;
use std::process::Command;

use crate::common::python_perfetto;

#[test]
fn perfettos_numbers_are_those_of_its_messages() {
    let Some(python) = python_perfetto() else {
        println!("skipped: no Perfetto in Python (tools/python-perfetto.sh)");
        return;
    };
    let tree = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let made = Command::new(python).arg(tree.join("tools/perfetto-numbers.py")).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let made = String::from_utf8(made.stdout).unwrap();
    let committed = std::fs::read_to_string(tree.join("crates/trace/src/perfetto/numbers.rs")).unwrap();
    for (n, (made, committed)) in (1..).zip(made.lines().zip(committed.lines())) {
        assert_eq!(made, committed, "line {n} of numbers.rs: make it anew as tools/perfetto-numbers.py says");
    }
    assert_eq!(made.len(), committed.len());
}
