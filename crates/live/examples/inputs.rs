// SPDX-License-Identifier: GPL-2.0-only
//! Records a governor's inputs under a mixed load: `inputs FILE ROUNDS MS [gentle]`.

use std::fs::File;
use std::io::BufWriter;
use std::time::Duration;

use idlewise_live::Host;
use idlewise_live::bpf::{Recorder, RecorderOptions, Table};

#[path = "../tests/common/mixed.rs"]
mod mixed;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let rounds: u32 = args[2].parse()?;
    let each = Duration::from_millis(args[3].parse()?);
    let phases: &'static [mixed::Phase] = if args.len() > 4 { &mixed::GENTLE } else { &mixed::ALL };
    let options =
        RecorderOptions { measure_cost: std::env::var_os("COST").is_some(), ..RecorderOptions::default() };
    let mut recorder = Recorder::start(&Host::below("/".as_ref()), options)?;
    let mut table = Table::new(BufWriter::new(File::create(&args[1])?));
    let load =
        std::thread::spawn(move || (0..rounds).for_each(|_| mixed::run(phases, each, "/tmp".as_ref())));
    while !load.is_finished() {
        std::thread::sleep(Duration::from_millis(100));
        for decision in recorder.drain() {
            table.row(&decision)?;
        }
    }
    let recorded = recorder.stop()?;
    for decision in &recorded.decisions {
        table.row(decision)?;
    }
    table.finish()?;
    eprintln!(
        "{}: {:?} cost {:?} ns {:?}",
        recorded.governor, recorded.counts, recorded.cost_ns, recorded.notes
    );
    Ok(())
}
