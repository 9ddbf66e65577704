// SPDX-License-Identifier: GPL-2.0-only
//! From a recorded trace to a tape: what a governor would have seen, each input with its confidence:
//! docs/concepts/inputs.md.
//!
//! [`make`] reads a trace twice: [`survey`](crate::survey) finds the clock ([`offset`](crate::offset)), the tick's [`grid`](crate::grid), timers that
//! fire although nobody was seen to arm them ([`unseen`](crate::unseen)) and CPUs without idle events;
//! [`maker`](crate::maker) then follows each CPU's idle task, [`armed`](crate::armed) the timers that it waits for,
//! [`util`](crate::util) what it knew of its load.
//! The idle periods of long recordings go to a [`spool`](crate::spool). [`file`](crate::file) keeps a tape on disk;
//! [`check`](crate::check) says what holds for every tape.

mod armed;
mod causes;
mod check;
mod event_cost;
mod facts;
pub mod file;
mod grid;
mod holes;
mod identities;
mod io_waits;
mod irq_class;
mod kernel;
mod latency_limits;
mod leaving;
mod maker;
mod offset;
mod rcu_softirq;
mod spool;
mod standstill;
mod survey;
mod timers;
mod unseen;
mod util;

pub use spool::Limits;

use idlewise_model::{Event, Health, HealthCount, HealthKind, PiecesError, Source, Tape};
use idlewise_platform::Platform;
use idlewise_trace::{Events, TraceError, TraceFile};
use thiserror::Error;

use identities::Identities;

/// Why no tape can be made from a trace.
#[derive(Debug, Error)]
pub enum TapeError {
    /// The trace cannot be read.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Nothing in the trace tells when a CPU was idle.
    #[error("{name}: {lacks}, so nothing can be replayed or scored; {advice} (events here: {events})")]
    NoIdle {
        name: String,
        lacks: &'static str,
        advice: String,
        /// Its events, most frequent first.
        events: String,
    },
    /// The idle periods cannot be read again.
    #[error(transparent)]
    IdlePeriods(#[from] PiecesError),
}

/// Whether a tape can be made of `trace`, a file called `name`, on any machine.
///
/// # Errors
/// As [`make`].
pub fn check(trace: &TraceFile, name: &str) -> Result<(), TapeError> {
    surveyed(trace, name).map(drop)
}

/// What `trace` shows at all, how many events it has, and what is wrong with them.
fn surveyed<'t>(trace: &'t TraceFile, name: &str) -> Result<(survey::Survey<'t>, u64, Health), TapeError> {
    let mut survey = survey::Survey::new(trace.meta());
    let mut events = trace.events()?;
    let mut identities = Identities::default();
    while let Some(event) = events.next() {
        let Some(event) = identities.complete(&event) else { continue };
        if let idlewise_model::EventKind::IrqEntry { irq } = event.kind {
            survey.irq(irq, events.irq_name(irq), &event);
        }
        survey.event(&event, &events);
    }
    trace.check_read()?;
    survey.names_no_timers(identities.given);
    survey.names_tasks(&events);
    let mut health = trace.meta().health.clone();
    health.merge(events.health());
    if !survey.any_idle() {
        return Err(TapeError::NoIdle {
            name: name.to_owned(),
            lacks: survey.lacks(),
            advice: way_out(&health, &trace.meta().format),
            events: most_frequent(&events),
        });
    }
    Ok((survey, events.counts().values().sum(), health))
}

/// Makes the tape of `trace`, a file called `name`, which was recorded on `machine`.
///
/// `machine` gives the exit latencies that are taken off the recorded exits, the polling state, and HZ where the
/// trace has no tick. `governor` is the idle governor that the kernel ran, empty where it is not known.
///
/// # Errors
/// [`TapeError`] when the trace cannot be read or has no idle events, or the temporary file of a long one fails.
pub fn make(trace: &TraceFile, name: &str, machine: &Platform, governor: &str) -> Result<Tape, TapeError> {
    make_within(Limits::default(), trace, name, machine, governor)
}

/// The same with other limits than the usual ones. The tape does not depend on them, only where it is kept.
///
/// # Errors
/// As [`make`].
pub fn make_within(
    limits: Limits,
    trace: &TraceFile,
    name: &str,
    machine: &Platform,
    governor: &str,
) -> Result<Tape, TapeError> {
    let (survey, total, health) = surveyed(trace, name)?;
    let name = name.to_owned();
    let facts = survey.finish(machine);
    let (first_ns, last_ns) = facts.span.ends_ns().unwrap_or_default();
    let source = Source {
        name,
        hash: trace.meta().hash.clone(),
        format: trace.meta().format.clone(),
        kernel: trace.meta().kernel.clone(),
        clock: trace.meta().clock.clone(),
        first_ns,
        last_ns,
        events: total,
        machine: machine.to_toml(),
        governor: governor.to_owned(),
    };
    let mut maker = maker::Maker::new(&facts, machine, limits);
    let seen: &mut dyn Iterator<Item = Event> = &mut trace.events()?;
    let mut identities = Identities::default();
    for event in seen {
        if let Some(event) = identities.complete(&event) {
            maker.event(&event);
        }
    }
    trace.check_read()?;
    let mut tape = maker.finish(source, health)?;
    debug_assert_eq!(check::check(&tape), Ok(()), "a tape of ours can be written and read again");
    tape.notes.splice(0..0, trace.meta().notes.iter().cloned());
    Ok(tape)
}

/// What to do about a recording without idle stays: it may be that a part of it is missing.
fn way_out(health: &Health, format: &str) -> String {
    let first = |found: fn(HealthKind) -> bool| health.iter().find(|(kind, _)| found(*kind));
    let words =
        |kind: HealthKind, c: &HealthCount| format!("{} {} (first: {})", c.count, kind.describe(), c.first);
    let cut_off = first(|kind| matches!(kind, HealthKind::Truncated | HealthKind::BadPage));
    match cut_off.or_else(|| first(|kind| kind == HealthKind::BadEvent)) {
        Some((kind @ HealthKind::BadEvent, c)) => format!("record again; the recording leaves out \
            {}", words(kind, c)),
        Some((kind, c)) => format!("copy the file again, a part of it is missing: {}", words(kind, c)),
        None if format.starts_with("Perfetto") => "record with the configuration that `idlewise record --perfetto-config \
                 --platform PLATFORM` prints"
            .to_owned(),
        None => "record with the events of the `power` and `sched` groups, for example `trace-cmd record -e power \
                 -e sched -e timer -e irq`"
            .to_owned(),
    }
}

fn most_frequent(events: &Events<'_>) -> String {
    let counts = events.counts();
    let mut named: Vec<(u64, &str)> =
        counts.iter().filter_map(|(id, n)| events.event_name(*id).map(|name| (*n, name))).collect();
    named.sort_by(|a, b| b.cmp(a));
    let words: Vec<String> = named.iter().take(5).map(|(n, name)| format!("{name} {n}")).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}
