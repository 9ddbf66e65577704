// SPDX-License-Identifier: GPL-2.0-only
//! What stands in the cells of a golden file, and what is said of those that are wrong.

use std::fs::{self, File};
use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use idlewise_conform::golden_file::{GoldenError, GoldenFile, Row};
use serde_json::json;

const HEADER: [&str; 15] = [
    "ovh_ns",
    "step",
    "disabled_mask",
    "latency_req_ns",
    "tick_stopped",
    "sleep_length_ns",
    "delta_tick_ns",
    "busy_ns",
    "sel_idx",
    "stop_tick",
    "n_sleep_calls",
    "entered_idx",
    "residency_ns",
    "poll_hit",
    "tick_ran",
];
const CELLS: [&str; 15] = ["600", "7", "3", "2000", "1", "-5", "6", "8", "1", "0", "1", "-1", "9", "-1", "1"];

/// The one row of a golden file with this header and these cells, of a machine with two states.
fn row(header: &[&str], cells: &[&str]) -> Result<Row, GoldenError> {
    let folder = tempfile::tempdir().unwrap();
    let state = |residency_us: i64| json!({"name": "", "exit_latency_ns": 1000, "target_residency_ns": residency_us * 1000, "polling": false});
    let car = json!({"states": [state(1), state(100)], "tick_nsec": 4_000_000, "cpu_capacity": 1024});
    fs::write(folder.path().join("some.json"), car.to_string()).unwrap();
    let path = folder.path().join("some.csv.gz");
    let mut file = GzEncoder::new(File::create(&path).unwrap(), Compression::fast());
    writeln!(file, "{}\n{}", header.join(","), cells.join(",")).unwrap();
    file.finish().unwrap();
    GoldenFile::read(&path).map(|mut golden| golden.rows.remove(0))
}

#[test]
fn the_order_of_columns_comes_from_the_header() {
    let row = row(&HEADER, &CELLS).unwrap();
    assert_eq!((row.step, row.ovh_ns, row.inputs.sleep_length_ns, row.sel_idx), (7, 600, -5, 1));
    assert_eq!((row.entered, row.poll_hit, row.tick_ran, row.asked), (None, None, true, true));
    assert_eq!((row.inputs.util, row.poll_limit_ns), (0, None));
}

#[test]
fn a_missing_column_and_a_bad_cell_are_named() {
    let said = row(&HEADER[1..], &CELLS[1..]).err().unwrap().to_string();
    assert!(said.contains("`ovh_ns`") && said.contains("some.csv.gz") && said.contains("tick_ran"), "{said}");
    for state in ["2", "-2", "100000000", "9223372036854775807"] {
        let mut cells = CELLS;
        cells[11] = state;
        let said = row(&HEADER, &cells).err().unwrap().to_string();
        assert!(said.contains("`entered_idx`") && said.contains(state), "{said}");
    }
    let mut cells = CELLS;
    cells[8] = "2";
    let said = row(&HEADER, &cells).err().unwrap().to_string();
    assert!(said.contains("`sel_idx`: expected the index of a state") && said.contains("`2`"), "{said}");
    let mut cells = CELLS;
    cells[4] = "maybe";
    let said = row(&HEADER, &cells).err().unwrap().to_string();
    assert!(said.contains("`tick_stopped`") && said.contains("0 or 1") && said.contains("`maybe`"), "{said}");
}
