// SPDX-License-Identifier: GPL-2.0-only
//! A sequence as a tape, and as a workload for the boot lab.

use idlewise_model::{
    Confidence, CpuTape, Health, NEVER_NS, Piece, PieceFlags, Pieces, Source, Tape, TapeCpu, TapeInput,
    TickGrid,
};
use serde_json::{Map, Value, json};

use crate::arena::TICK_HANDLER_NS;
use crate::period::{BEGINS_NS, Period};

/// What is known of the made machine of a tape.
pub(crate) struct Made<'m> {
    /// Of the sequence, in a few words.
    pub(crate) name: &'m str,
    /// As a platform file.
    pub(crate) machine: &'m str,
    pub(crate) cpu: u32,
    pub(crate) hz: u32,
}

/// What governors are given, all of it known.
const INPUTS: [&str; 8] = [
    "wake",
    "sleep length",
    "visits",
    "tick grid",
    "utilisation",
    "iowait",
    "latency limit",
    "disabled states",
];

/// `periods` as the tape that a recording of them would be.
pub(crate) fn tape(periods: &[Period], made: &Made<'_>) -> Tape {
    let mut flags = PieceFlags(PieceFlags::VISIT_START | PieceFlags::VISIT_END);
    flags.set_timer_confidence(Confidence::Recorded);
    let piece = |(event, period): (&idlewise_replay::WorkloadEvent, &Period)| Piece {
        start_ns: event.start_ns,
        wake_ns: period.woken_ns,
        hrtimer_ns: period.timer_ns.map_or(NEVER_NS, u64::cast_signed),
        wheel_ns: NEVER_NS,
        stale_event_ns: NEVER_NS,
        exit_lag_ns: 0,
        response_ns: 0,
        handler_ns: event.handler_ns,
        entry_lag_ns: 0,
        util: period.util,
        iowait: period.iowait,
        state: Piece::NO_STATE,
        cause: period.cause(),
        flags,
    };
    let events = Period::events(periods);
    let pieces: Vec<Piece> = events.iter().zip(periods).map(piece).collect();
    let last_ns = events.last().map_or(BEGINS_NS, |e| e.at_ns + u64::from(e.handler_ns));
    let input = |name: &str| {
        let mut counts = [0; 4];
        counts[Confidence::Recorded as usize] = periods.len() as u64;
        TapeInput {
            name: name.to_owned(),
            counts,
            how: "a counter-example: nothing is recorded, all is given".to_owned(),
        }
    };
    Tape {
        source: Source {
            name: made.name.to_owned(),
            format: "counter-example".to_owned(),
            clock: "mono".to_owned(),
            first_ns: BEGINS_NS,
            last_ns,
            events: periods.len() as u64,
            machine: made.machine.to_owned(),
            ..Source::default()
        },
        inputs: INPUTS.map(input).to_vec(),
        notes: Vec::new(),
        health: Health::default(),
        cpus: vec![CpuTape {
            cpu: made.cpu,
            usable: TapeCpu::Usable,
            tick: TickGrid::from_hz(made.hz),
            tick_handler_ns: TICK_HANDLER_NS as u32,
            pieces: Pieces::from(pieces),
            latency: Vec::new(),
            disabled: Vec::new(),
            sends: None,
            event_ns: 0,
        }],
        stood_still_ns: 0,
    }
}

/// `periods` as a file that rt-app reads, over and over: a task on the CPU that runs and sleeps. Only of idle periods that timers end.
///
/// # Errors
/// The first idle period that an interrupt ends, from 1.
pub(crate) fn workload(periods: &[Period], cpu: u32, about: &str) -> Result<String, usize> {
    if let Some(n) = periods.iter().position(|p| !p.is_timer()) {
        return Err(n + 1);
    }
    let us = |ns: u64| (ns / 1000).max(1);
    let mut phases = Map::new();
    for (n, p) in periods.iter().enumerate() {
        phases.insert(format!("run{n}"), json!(us(p.busy_ns)));
        phases.insert(format!("sleep{n}"), json!(us(p.woken_ns)));
    }
    let mut task = Map::new();
    task.insert("cpus".to_owned(), json!([cpu]));
    task.insert("loop".to_owned(), json!(-1));
    task.extend(phases);
    let file = json!({
        "idlewise": { "about": about },
        "tasks": { "counterexample": Value::Object(task) },
        "global": { "duration": 5, "calibration": "CPU0", "default_policy": "SCHED_OTHER" },
    });
    let text = serde_json::to_string_pretty(&file);
    Ok(format!("{}\n", text.unwrap_or_else(|e| unreachable!("texts and numbers: {e}"))))
}
