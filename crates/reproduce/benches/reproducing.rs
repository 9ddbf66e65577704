// SPDX-License-Identifier: GPL-2.0-only
//! How fast time passes in the published experiments: simulated seconds and events a wall second.
//!
//! Of each experiment of `idlewise reproduce` one cell (the baseline's, of the first row), one run of it on one core; the
//! best of some rounds. A run that ends by itself counts until then. The figures depend on the machine; the hash is of the
//! run's numbers and does not.
//!
//! `cargo bench -p idlewise-reproduce --bench reproducing`

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark looks at the clock, prints, and stops where something is wrong"
)]

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use idlewise_reproduce::{Experiment, find, shipped, simulate_once};

/// A run is over in some ms.
const ROUNDS: usize = 20;

fn main() {
    println!("one run of one cell of each experiment, best of {ROUNDS}\n");
    println!(
        "{:<18} {:<34} {:>4} {:>10} {:>10} {:>9} {:>10} {:>8}  hash",
        "experiment", "cell", "CPUs", "simulated", "events", "wall s", "events/s", "s per s"
    );
    for (id, _) in shipped() {
        measure(id, &find(id).unwrap());
    }
}

fn measure(id: &str, e: &Experiment) {
    let (row, column) = (&e.row[0], e.baseline().unwrap_or(&e.column[0]));
    let mut best = f64::MAX;
    let mut last = None;
    for _ in 0..ROUNDS {
        let begin = Instant::now();
        let report = simulate_once(e, row, column).unwrap();
        best = best.min(begin.elapsed().as_secs_f64());
        last = report;
    }
    let cell: String = format!("{}, {}", column.name, row.name).chars().take(34).collect();
    let Some(report) = last else {
        println!("{id:<18} {cell:<34} computed, not simulated");
        return;
    };
    let one = &report.combinations[0];
    let until = one.fact("run", "time").map(|f| f.summary.mean).filter(|ns| ns.is_finite());
    let seconds = until.map_or(report.duration_ns as f64, |ns| ns.min(report.duration_ns as f64)) / 1e9;
    let run = &one.runs[0];
    let mut hash = DefaultHasher::new();
    run.values.iter().for_each(|v| v.to_bits().hash(&mut hash));
    println!(
        "{id:<18} {cell:<34} {:>4} {seconds:>9.2}s {:>10} {best:>9.4} {:>10.0} {:>8.1}  {:016x}",
        report.cpus,
        run.events,
        run.events as f64 / best,
        seconds / best,
        hash.finish()
    );
}
