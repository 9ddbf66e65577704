// SPDX-License-Identifier: GPL-2.0-only
//! Records a governor's inputs under a mixed load: `inputs FILE ROUNDS MS [gentle]`.

use std::time::Duration;

use idlewise_live::Host;
use idlewise_recorder::bpf::{RecorderOptions, Spool};

// The test runs the same load; no other crate does.
#[path = "../tests/mixed.rs"]
mod mixed;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    let rounds: u32 = args[2].parse()?;
    let each = Duration::from_millis(args[3].parse()?);
    let phases: &'static [mixed::Phase] = if args.len() > 4 { &mixed::GENTLE } else { &mixed::ALL };
    let options =
        RecorderOptions { measure_cost: std::env::var_os("COST").is_some(), ..RecorderOptions::default() };
    let spool = Spool::start(&Host::below("/".as_ref()), options, args[1].as_ref())?;
    (0..rounds).for_each(|_| mixed::run(phases, each, "/tmp".as_ref()));
    let recorded = spool.stop()?;
    eprintln!("{}: {:?} {:?} {:?}", recorded.governor, recorded.counts, recorded.cost, recorded.notes);
    Ok(())
}
