// SPDX-License-Identifier: GPL-2.0-only
//! What the first lines of a text tell about all of it.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_model::NoteId;
use memchr::memmem;

use super::carrier::Carrier;
use super::head::{Grain, Head, MOST_CPUS, Style, beyond_time, event, lacks_cpu};
use super::line_kind::{LineKind, is_known, kind_of};
use super::lines::{Lines, clean};
use super::source::Packing;
use super::values::{self, digits, trim};
use super::wrapping::{BYTE_ORDER_MARK, Wrapping};
use crate::kernel::clock::seconds;
use crate::meta::TraceMeta;

/// How many lines are looked at.
const LINES: u64 = 10_000;

/// What the kernel itself writes.
const TRACER: &str = "ftrace text";

/// What must be known before the first event.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Functions that some lines name and others give the address of.
    pub(super) functions: BTreeMap<u64, String>,
    /// Events by name, in the order in which they come.
    pub(super) events: Vec<Box<[u8]>>,
    /// Timers with all flags really have them.
    pub(super) timer_flags_told: bool,
    /// Lines do not name the task.
    pub(super) no_tasks: bool,
}

/// What the first lines of a text told.
#[derive(Debug, Default)]
pub(super) struct Survey {
    style: Option<Style>,
    grain: Option<Grain>,
    /// "# tracer:", or a first line of trace-cmd or idlestat.
    heading: Option<&'static str>,
    kernel: String,
    machine: String,
    clock: String,
    cpus: u32,
    /// Events that the kernel overwrote before the text was read, with those that were written.
    overwritten: (u64, u64),
    /// Whether timers were met whose flags have all letters, and whether others were.
    all_flags: bool,
    other_flags: bool,
    mode_missing: bool,
    no_tasks: bool,
    events: Vec<Box<[u8]>>,
    known: BTreeSet<Box<[u8]>>,
    /// The first line that is nothing that is known.
    odd: Option<u64>,
    /// The first of them with a task, a time and an event, and no CPU.
    without_cpu: Option<u64>,
    times: Times,
    /// One of them has a time that no clock can reach.
    beyond_time: bool,
    /// Functions of armed timers, by the timer's address.
    armed: BTreeMap<u64, String>,
    /// Functions that some lines name and others give the address of.
    functions: BTreeMap<u64, String>,
}

/// The times of perf's events, which it sorts.
#[derive(Debug, Default)]
struct Times {
    events: u64,
    last_ns: Option<u64>,
    begins_at_0: bool,
    /// How many are below a second.
    short: u64,
    /// How many are less than the one before, and not 0: with that a text of times since the first event begins again.
    back: u64,
    /// The first of those: its line, its time and the one before, ns.
    first_back: Option<(u64, u64, u64)>,
}

impl Times {
    fn next(&mut self, ts_ns: u64, line: u64) {
        self.begins_at_0 |= self.events == 0 && ts_ns == 0;
        self.events += 1;
        self.short += u64::from(ts_ns < 1_000_000_000);
        let before = self.last_ns.replace(ts_ns);
        if let Some(before) = before.filter(|before| ts_ns < *before && ts_ns > 0) {
            self.back += 1;
            self.first_back.get_or_insert((line, ts_ns, before));
        }
    }

    /// Whether they are since the event before.
    fn are_differences(&self) -> bool {
        self.back * 8 >= self.events
            && self.short * 4 >= self.events * 3
            && (self.begins_at_0 || self.events >= 16)
    }
}

impl Survey {
    pub(super) fn of(lines: &mut Lines<'_>) -> Self {
        let mut survey = Self::default();
        while lines.number() < LINES {
            let Some(place) = lines.advance() else { break };
            survey.line(clean(lines.get(place)), lines.number());
        }
        survey
    }

    /// Whether anything was met that only a trace has.
    pub(super) fn is_trace(&self) -> bool {
        self.style.is_some() || self.heading.is_some() || self.without_cpu.is_some()
    }

    /// The first line of a trace that has lines, none of which can be read.
    pub(super) fn unreadable(&self) -> Option<u64> {
        self.odd.filter(|_| self.style.is_none())
    }

    pub(super) fn has_no_events(&self) -> bool {
        self.events.is_empty()
    }

    /// The first line that has all but its CPU.
    pub(super) fn without_cpu(&self) -> Option<u64> {
        self.without_cpu
    }

    /// The first line of `perf script` whose time goes back, and how, where times are since the event before.
    pub(super) fn time_that_is_a_difference(&self) -> Option<(u64, String)> {
        let times = &self.times;
        let (line, now, before) = times.first_back?;
        times.are_differences().then(|| (line, format!("{} after {}", seconds(now), seconds(before))))
    }

    /// Whether that is because of their times.
    pub(super) fn is_beyond_time(&self) -> bool {
        self.beyond_time
    }

    fn line(&mut self, line: &[u8], number: u64) {
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        if let Some(comment) = line.strip_prefix(b"#") {
            self.comment(trim(comment));
        } else if let Some(head) = Head::parse(line) {
            self.style.get_or_insert(head.style);
            self.grain.get_or_insert(head.grain);
            self.no_tasks |= head.comm.is_empty() && head.pid < 0;
            let Some((name, fields)) = event(head.style, head.rest) else { return };
            if head.style == Style::Perf || name.contains(&b':') {
                self.times.next(head.ts_ns, number);
            }
            if !self.known.contains(name) {
                self.known.insert(name.into());
                self.events.push(name.into());
            }
            self.timer(name.rsplit(|b| *b == b':').next().unwrap_or_default(), fields);
        } else if let Some(n) = line.strip_prefix(b"cpus=").and_then(digits) {
            self.heading.get_or_insert("trace-cmd report");
            self.cpus = u32::try_from(n.0).unwrap_or(0).min(MOST_CPUS);
        } else if line.starts_with(b"version = ") {
            self.heading.get_or_insert("trace-cmd report");
        } else if line.starts_with(b"idlestat version") {
            self.heading.get_or_insert("idlestat trace");
        } else if !is_known(line) && !matches!(kind_of(line), LineKind::Lost(..)) {
            self.odd.get_or_insert(number);
            if self.without_cpu.is_none() && lacks_cpu(line) {
                self.without_cpu = Some(number);
            }
            self.beyond_time |= beyond_time(line);
        }
    }

    /// What a timer's events leave unsaid. `trace-cmd report -R` names a timer's function when it is armed and gives its
    /// address when it expires.
    fn timer(&mut self, name: &[u8], fields: &[u8]) {
        let value = |key: &[u8]| {
            let at = memmem::find(fields, key)? + key.len();
            fields.get(at..)?.split(|b| *b == b' ').next()
        };
        let timer = || value(b"timer=").and_then(values::pointer);
        let function = || value(b" function=").map(values::function);
        match name {
            b"hrtimer_start" | b"timer_start" => {
                if name == b"timer_start" {
                    let all = fields.ends_with(values::ALL_FLAGS);
                    self.all_flags |= all;
                    self.other_flags |= !all;
                } else {
                    self.mode_missing |= value(b" mode=").is_none();
                }
                if let (Some(timer), Some(Err(name))) = (timer(), function()) {
                    self.armed.insert(timer, String::from_utf8_lossy(name).into_owned());
                }
            }
            b"hrtimer_expire_entry" | b"timer_expire_entry" => {
                if let (Some(timer), Some(Ok(address))) = (timer(), function())
                    && let Some(name) = self.armed.get(&timer)
                {
                    self.functions.insert(address, name.clone());
                }
            }
            _ => {}
        }
    }

    /// A line that starts with `#`.
    fn comment(&mut self, text: &[u8]) {
        let number = |bytes: &[u8]| digits(trim(bytes)).map(|(n, _)| n);
        if text.starts_with(b"tracer:") {
            self.heading.get_or_insert(TRACER);
        } else if text.starts_with(b"version = ") {
            self.heading.get_or_insert("idlestat trace");
        } else if let Some(rest) = text.strip_prefix(b"entries-in-buffer/entries-written:") {
            let mut parts = rest.splitn(2, |b| *b == b'/');
            let mut next = || parts.next().and_then(number).unwrap_or(0);
            let (here, written) = (next(), next());
            self.overwritten = (written.saturating_sub(here), written);
        } else if let Some(kernel) = after(text, b"os release : ") {
            self.kernel = kernel;
        } else if let Some(machine) = after(text, b"arch : ") {
            self.machine = machine;
        } else if text.starts_with(b"clock : ") {
            // Only [`crate::write::FtraceText`] tells it.
            self.clock = after(text, b"clock : ").unwrap_or_default();
        } else if memmem::find(text, b" latency trace v").is_some() {
            self.kernel = after(text, b" on ").unwrap_or_default();
        }
    }

    /// Says in `meta` what was learned, and names the functions of some addresses.
    pub(super) fn tell(
        self,
        wrapping: Wrapping,
        packing: Packing,
        carrier: Carrier,
        meta: &mut TraceMeta,
    ) -> Facts {
        let by = match (self.style, self.heading) {
            _ if carrier == Carrier::Babeltrace => "babeltrace text",
            (Some(Style::Perf), _) => "perf script",
            (_, Some(heading)) => heading,
            _ => TRACER,
        };
        let inside = match wrapping {
            Wrapping::Plain => "",
            Wrapping::Html => ", in a systrace page",
            Wrapping::Json => ", in JSON",
            Wrapping::Atrace(_) => ", from atrace",
        };
        let packed = if matches!(packing, Packing::Plain | Packing::Json) { "" } else { ", compressed" };
        let carried = match carrier {
            Carrier::People(_) => ", quoted, numbered or wrapped",
            Carrier::FunctionGraph => ", tracer function_graph",
            Carrier::Tracer | Carrier::Babeltrace => "",
        };
        let latency = if self.style == Some(Style::Latency) { ", latency format" } else { "" };
        meta.format = format!("{by}{latency}{carried}{inside}{packed}");
        meta.kernel = format!("{} {}", self.kernel, self.machine).trim().to_owned();
        meta.clock = self.clock;
        meta.cpus = (0..self.cpus).collect();
        match self.grain {
            None | Some(Grain::Nano) => {}
            Some(Grain::Micro) => meta.note(NoteId::TraceClock, "times are to the microsecond"),
            Some(Grain::SinceStart) => meta.note(
                NoteId::TraceClock,
                "times are to the microsecond and count from the start of the trace",
            ),
            Some(Grain::Unknown) => meta.note(
                NoteId::NoNanoseconds,
                "times have no unit (trace clock counter, x86-tsc or uptime) and are taken for nanoseconds: whatever \
                 depends on them may be wrong; the clock \"mono\" is best",
            ),
        }
        let timer_flags_told = self.other_flags || self.heading == Some(TRACER);
        if self.all_flags && !timer_flags_told {
            meta.timer_kinds_unknown = true;
            meta.note(
                NoteId::Reader,
                "timers are printed with flags=D|P|I whatever they have: which are deferrable or pinned is \
                 not known (trace-cmd report -R shows it)",
            );
        }
        if self.mode_missing {
            meta.note(NoteId::UnknownFormat, "hrtimer_start has no mode (trace-cmd report -R has it)");
        }
        if self.overwritten.0 > 0 {
            let (lost, written) = self.overwritten;
            meta.note(NoteId::LostEvents, format!(
                "{lost} of {written} events were overwritten before the text was read: a larger buffer keeps more"
            ));
        }
        if self.no_tasks {
            meta.note(
                NoteId::Reader,
                "lines do not name the task: which one runs is known from switches and idle entries",
            );
        }
        let no_tasks = self.no_tasks;
        Facts { functions: self.functions, events: self.events, timer_flags_told, no_tasks }
    }
}

/// The text behind `word`.
fn after(text: &[u8], word: &[u8]) -> Option<String> {
    let at = memmem::find(text, word)? + word.len();
    text.get(at..).map(|rest| String::from_utf8_lossy(trim(rest)).into_owned())
}
