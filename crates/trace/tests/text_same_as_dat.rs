// SPDX-License-Identifier: GPL-2.0-only
//! Is the text that `trace-cmd report` makes of a recording read as the recording itself: each event, its time, CPU,
//! task and every number that the text tells?

use crate::common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{has_trace_cmd, recordings};
use idlewise_checkout::thorough;
use idlewise_model::{Event, EventKind, HealthKind, HrtimerMode, TimerFlags};
use idlewise_trace::{Events, TraceFile, TraceMeta};

/// What the options of `trace-cmd report` leave of an event.
#[derive(Clone, Copy)]
struct Telling {
    options: &'static [&'static str],
    /// Times to the microsecond.
    micro: bool,
    /// Raw fields: everything.
    raw: bool,
    /// The plugins' own words: no preemption, no mode of hrtimers.
    plugins: bool,
}

const TELLINGS: [Telling; 6] = [
    Telling { options: &["-t"], micro: false, raw: false, plugins: true },
    Telling { options: &["-t", "-N"], micro: false, raw: false, plugins: false },
    Telling { options: &["-t", "-R"], micro: false, raw: true, plugins: false },
    Telling { options: &["-t", "-l"], micro: false, raw: false, plugins: true },
    Telling { options: &["-R", "-l"], micro: true, raw: true, plugins: false },
    Telling { options: &[], micro: true, raw: false, plugins: true },
];

/// The bits of a timer's flags that are printed as letters, always all of them.
const LETTERS: u32 = 0x3c_0000;

impl Telling {
    /// The event as far as the text tells it.
    fn of(self, mut event: Event) -> Event {
        if self.micro {
            event.ts_ns = (event.ts_ns + 500) / 1000 * 1000;
        }
        event.kind = match event.kind {
            EventKind::SchedSwitch { prev_pid, prev_prio, prev_state, next_pid, next_prio } => {
                let preempted = prev_state & !0xff != 0;
                let prev_state = match self {
                    Self { raw: true, .. } => prev_state,
                    Self { plugins: true, .. } => prev_state & 0xff,
                    // Which bit says so depends on the kernel.
                    _ => prev_state & 0xff | if preempted { 0x100 } else { 0 },
                };
                EventKind::SchedSwitch { prev_pid, prev_prio, prev_state, next_pid, next_prio }
            }
            EventKind::HrtimerStart { hrtimer, function, expires, softexpires, .. } if self.plugins => {
                EventKind::HrtimerStart {
                    hrtimer,
                    function,
                    expires,
                    softexpires,
                    mode: HrtimerMode(0),
                    was_armed: None,
                }
            }
            EventKind::TimerStart { timer, function, expires, bucket_expiry, now, flags } if !self.raw => {
                let flags = TimerFlags(flags.0 & !LETTERS);
                EventKind::TimerStart { timer, function, expires, bucket_expiry, now, flags }
            }
            kind => kind,
        };
        event
    }
}

/// The event with functions and ids of its file replaced by what they stand for in any file. With `-R` some functions
/// are addresses in the text, too; the symbols of `meta` name them.
fn portable(event: Event, events: &Events<'_>, meta: &TraceMeta) -> (Event, String) {
    let function = |f: u64| {
        let known = if f < 1 << 20 { events.symbol(f) } else { meta.function(f) };
        known.map_or_else(|| format!("{f:#x}"), str::to_owned)
    };
    let mut event = event;
    let name = match &mut event.kind {
        EventKind::HrtimerStart { function: f, .. }
        | EventKind::HrtimerExpireEntry { function: f, .. }
        | EventKind::TimerStart { function: f, .. }
        | EventKind::TimerExpireEntry { function: f, .. } => function(std::mem::take(f)),
        EventKind::Other { id } => {
            let name = events.event_name(std::mem::take(id)).unwrap_or("?");
            name.rsplit(':').next().unwrap_or("?").to_owned()
        }
        _ => String::new(),
    };
    (event, name)
}

/// All events but losses, of which only the sum counts.
fn next(events: &mut Events<'_>, lost: &mut u64) -> Option<Event> {
    loop {
        let event = events.next()?;
        match event.kind {
            EventKind::Lost { count } => *lost += count,
            _ => return Some(event),
        }
    }
}

fn compare(path: &Path, telling: Telling) -> u64 {
    let out =
        Command::new("trace-cmd").arg("report").args(telling.options).arg("-i").arg(path).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(
        out.status.success(),
        "{} {:?}: trace-cmd report: {}: {said}",
        path.display(),
        telling.options,
        out.status
    );
    let lines = out.stdout.iter().filter(|b| **b == b'\n').count();
    let dat = TraceFile::open(path).unwrap();
    let text = TraceFile::from_bytes(Path::new("report"), out.stdout).unwrap();
    assert!(text.meta().format.starts_with("trace-cmd report"), "{}", text.meta().format);
    let (mut theirs, mut ours) = (dat.events().unwrap(), text.events().unwrap());
    let (mut lost_dat, mut lost_text, mut n) = (0, 0, 0);
    while let Some(event) = next(&mut theirs, &mut lost_dat) {
        let place = format!("{} {:?}, event {n}", path.display(), telling.options);
        let mut expected = portable(telling.of(event), &theirs, dat.meta());
        // The bytes of a mask, in an order that the text does not tell.
        if telling.raw && matches!(event.kind, EventKind::IpiRaise { .. }) {
            expected.0.kind = EventKind::Other { id: 0 };
            expected.1 = "ipi_raise".to_owned();
        }
        let Some(got) = next(&mut ours, &mut lost_text) else {
            panic!("{place}: the text ends before {event:?}")
        };
        let got = portable(got, &ours, dat.meta());
        assert_eq!(got, expected, "{place}");
        n += 1;
    }
    assert_eq!(
        next(&mut ours, &mut lost_text),
        None,
        "{}: the text has more than {n} events",
        path.display()
    );
    assert_eq!(lost_dat, lost_text, "{}", path.display());
    let health = ours.health();
    assert_eq!(health.count(HealthKind::BadEvent), 0, "{health:?}");
    println!(
        "{} {:?}: {n} events of {lines} lines; {:?} {health:?}",
        path.display(),
        telling.options,
        text.meta().notes
    );
    n
}

/// Recordings of others and of this project.
fn all() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data");
    let mut all: Vec<_> = ["", "kvm-guest"]
        .iter()
        .filter_map(|d| std::fs::read_dir(own.join(d)).ok())
        .flat_map(|dir| dir.flatten().map(|e| e.path()))
        .filter(|p| p.extension().is_some_and(|e| e == "dat"))
        .collect();
    all.sort();
    all.extend(recordings());
    all
}

#[test]
fn every_event_of_every_recording_in_every_spelling_and_of_large_ones_in_some() {
    if !has_trace_cmd() {
        println!("skipped: no trace-cmd");
        return;
    }
    let mut n = 0;
    for (i, path) in all().iter().enumerate() {
        // A large file in two spellings, the next in others, or in one.
        let large = path.metadata().unwrap().len() > 500_000;
        let of = if thorough() { 3 } else { TELLINGS.len() };
        let tellings = TELLINGS.into_iter().enumerate().filter(|(k, _)| !large || k % of == i % of);
        for (_, telling) in tellings {
            n += compare(path, telling);
        }
    }
    assert!(n > 0);
    println!("{n} events");
}
