// SPDX-License-Identifier: GPL-2.0-only
//! The options of a `trace.dat`: small facts about the recording, the same in both versions.

use std::collections::BTreeMap;

use idlewise_model::{HealthKind, NoteId};

use super::guests;
use crate::input::text;
use crate::kernel::clock::{self, Clock};
use crate::kernel::order::{ByteOrder, Order};
use crate::meta::{CpuStats, TraceMeta};

pub(crate) const DONE: u16 = 0;
const DATE: u16 = 1;
const CPUSTAT: u16 = 2;
pub(crate) const BUFFER: u16 = 3;
const TRACECLOCK: u16 = 4;
const UNAME: u16 = 5;
const OFFSET: u16 = 7;
const CPUCOUNT: u16 = 8;
const VERSION: u16 = 9;
const TRACEID: u16 = 11;
const TIME_SHIFT: u16 = 12;
const GUEST: u16 = 13;
const TSC2NSEC: u16 = 14;
pub(crate) const HEADER_INFO: u16 = 16;
pub(crate) const FTRACE_EVENTS: u16 = 17;
pub(crate) const EVENT_FORMATS: u16 = 18;
pub(crate) const KALLSYMS: u16 = 19;
pub(crate) const PRINTK: u16 = 20;
pub(crate) const CMDLINES: u16 = 21;
pub(crate) const BUFFER_TEXT: u16 = 22;

/// How a description of the recording begins that stands behind the recorder's name and its zero byte. `record` writes it
/// there, since trace-cmd and KernelShark read the name only, and print a warning for an option that they do not know.
pub(crate) const DESCRIPTION: &[u8] = b"# idlewise: the recording\n";
/// Most bytes of a description: that of a machine with 4096 CPUs and ten idle states has 4 MB.
const MOST_DESCRIPTION: usize = 16 << 20;

/// What the options say beside what goes into the metadata.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) clock: Clock,
    pub(crate) cpu_count: Option<u32>,
    /// What the kernel counted for the buffers of each instance; `stats_of` is the one whose counts come next.
    pub(crate) stats: BTreeMap<String, BTreeMap<u32, CpuStats>>,
    stats_of: String,
    /// A version 6 file with this option has the clock's name behind the table of CPUs.
    pub(crate) clock_follows: bool,
}

/// Takes over an option that both versions have.
pub(crate) fn apply(order: ByteOrder, id: u16, bytes: &[u8], meta: &mut TraceMeta, facts: &mut Facts) {
    match id {
        DATE => shift(bytes, 1000, meta, facts),
        OFFSET => shift(bytes, 1, meta, facts),
        CPUSTAT => {
            let text = text(bytes);
            // The counts of an instance follow an option that names it.
            if let Some(name) = text.lines().find_map(|l| l.strip_prefix("Buffer:")) {
                name.trim().clone_into(&mut facts.stats_of);
            } else if let Some((cpu, stats)) = CpuStats::parse(&text) {
                facts.stats.entry(facts.stats_of.clone()).or_default().insert(cpu, stats);
            }
        }
        TRACECLOCK if bytes.is_empty() => facts.clock_follows = true,
        TRACECLOCK => meta.clock = clock::selected(&text(bytes)),
        UNAME => meta.kernel = kernel_of(&text(bytes)),
        CPUCOUNT => facts.cpu_count = bytes.first_chunk::<4>().map(|b| order.u32(*b)),
        VERSION => {
            let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
            let (name, behind) = bytes.split_at(end);
            text(name).trim().clone_into(&mut meta.recorder);
            if let Some(said) = behind.strip_prefix(&[0]).and_then(|b| b.strip_prefix(DESCRIPTION)) {
                description(said, meta);
            }
        }
        TRACEID => guests::trace_id(order, bytes, meta),
        TIME_SHIFT => guests::time_shift(order, bytes, meta),
        GUEST => guests::guest(order, bytes, meta),
        TSC2NSEC => {
            let word = |at: usize| bytes.get(at..)?.first_chunk::<4>().map(|b| order.u32(*b));
            if let (Some(mult), Some(shift), true) = (word(0), word(4), bytes.len() >= 16) {
                facts.clock.scale = (mult != 0).then_some((mult, shift));
            }
        }
        _ => {}
    }
}

/// Takes over a description that `record` wrote into the file.
fn description(bytes: &[u8], meta: &mut TraceMeta) {
    let said = bytes.split(|b| *b == 0).next().unwrap_or_default();
    let wrong = match std::str::from_utf8(said) {
        _ if said.len() > MOST_DESCRIPTION => {
            format!("{} bytes, at most {MOST_DESCRIPTION} are read", said.len())
        }
        Err(e) => format!("at its byte {}: no UTF-8 text", e.valid_up_to()),
        Ok(text) => {
            meta.description = Some(text.to_owned());
            return;
        }
    };
    meta.damage(HealthKind::Ignored, format!("the description of the recording inside the file: {wrong}"));
}

fn shift(bytes: &[u8], unit_ns: i64, meta: &mut TraceMeta, facts: &mut Facts) {
    let text = text(bytes);
    match integer(text.trim()) {
        Some(n) => facts.clock.offset = facts.clock.offset.wrapping_add(n.wrapping_mul(unit_ns)),
        None => meta.note(
            NoteId::TraceClock,
            format!("the time offset {:?} is no number and is left out", text.trim()),
        ),
    }
}

/// A number in decimal or, with 0x, hexadecimal.
fn integer(text: &str) -> Option<i64> {
    let (minus, digits) = text.strip_prefix('-').map_or((false, text), |t| (true, t));
    let value = match digits.strip_prefix("0x") {
        // An offset may use all 64 bits; it wraps as in two's complement.
        Some(hex) => u64::from_str_radix(hex, 16).ok()? as i64,
        None => digits.trim_start_matches('+').parse::<u64>().ok()? as i64,
    };
    Some(if minus { value.wrapping_neg() } else { value })
}

/// "Linux host 6.6.9 aarch64" to "6.6.9 aarch64".
fn kernel_of(uname: &str) -> String {
    let words: Vec<_> = uname.split_ascii_whitespace().collect();
    words.get(2..).map_or_else(|| words.join(" "), |w| w.join(" "))
}
