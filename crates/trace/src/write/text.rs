// SPDX-License-Identifier: GPL-2.0-only
//! Events as the kernel prints them to its `trace` file, with times to the nanosecond.

use std::fmt;
use std::io::{self, Write};

use idlewise_model::{Event, EventKind};

use super::Names;
use super::row::{Row, Val};
use crate::TraceMeta;

/// Names of the softirqs (`include/linux/interrupt.h`).
const SOFTIRQS: [&str; 10] =
    ["HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"];
/// Letters of `prev_state`, lowest bit first, since 4.14 (`include/linux/sched.h`), and the bit that means preempted.
const STATES: [char; 8] = ['S', 'D', 'T', 't', 'X', 'Z', 'P', 'I'];
const PREEMPTED: u64 = 0x100;
/// Bits of an hrtimer's mode above `REL` (`include/linux/hrtimer.h`).
const MODES: [(u32, &str); 3] = [(2, "PINNED"), (4, "SOFT"), (8, "HARD")];
/// Letters of a wheel timer's flags, behind 18 bits of CPU and before 10 of its place (`include/linux/timer.h`).
const FLAGS: [(u32, &str); 4] = [(0x4_0000, "M"), (0x8_0000, "D"), (0x10_0000, "P"), (0x20_0000, "I")];
/// What keeps the tick, lowest bit first (`include/linux/tick.h`).
const DEPENDENCIES: [&str; 6] = ["POSIX_TIMER", "PERF_EVENTS", "SCHED", "CLOCK_UNSTABLE", "RCU", "RCU_EXP"];

/// Writes events as text, one a line.
#[derive(Debug)]
pub struct FtraceText<W> {
    out: W,
}

impl<W: Write> FtraceText<W> {
    /// Begins a text of the recording that `meta` describes.
    ///
    /// # Errors
    /// When `out` cannot be written to; so of all methods.
    pub fn new(mut out: W, meta: &TraceMeta) -> io::Result<Self> {
        writeln!(out, "# tracer: nop\n#")?;
        // A release has no space in it.
        let (release, machine) = meta.kernel.rsplit_once(' ').unwrap_or((&meta.kernel, ""));
        for (what, it) in [("os release", release), ("arch", machine)] {
            if !it.is_empty() {
                writeln!(out, "# {what} : {it}")?;
            }
        }
        if !meta.clock.is_empty() {
            writeln!(out, "# clock : {}", meta.clock)?;
        }
        writeln!(out, "#")?;
        Ok(Self { out })
    }

    /// Writes the next event; `names` are those known by then.
    ///
    /// # Errors
    /// As [`FtraceText::new`].
    pub fn event(&mut self, event: &Event, names: &impl Names) -> io::Result<()> {
        let cpu = event.cpu;
        if let EventKind::Lost { count } = event.kind {
            return match count {
                0 => writeln!(self.out, "CPU:{cpu} [LOST EVENTS]"),
                n => writeln!(self.out, "CPU:{cpu} [LOST {n} EVENTS]"),
            };
        }
        let Some(row) = Row::of(event, names) else { return Ok(()) };
        let pid = event.pid;
        let name = names.comm(pid).unwrap_or("<...>");
        match pid {
            0 => write!(self.out, "{:>16}-0      ", "<idle>")?,
            // Nobody knows who ran.
            ..0 => write!(self.out, "{:>16}        ", "<...>")?,
            _ => write!(self.out, "{:>16}-{pid:<7}", Line(name))?,
        }
        let (s, ns) = (event.ts_ns / 1_000_000_000, event.ts_ns % 1_000_000_000);
        write!(self.out, " [{cpu:03}] ..... {s:>5}.{ns:09}: {}:", row.name)?;
        for (key, value) in row.fields() {
            field(&mut self.out, key, *value)?;
        }
        writeln!(self.out)
    }

    /// Hands back what was written to.
    ///
    /// # Errors
    /// As [`FtraceText::new`].
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

fn field(out: &mut impl Write, key: &str, value: Val<'_>) -> io::Result<()> {
    match value {
        Val::TargetCpu(cpu) => write!(out, " {key}={cpu:03}"),
        Val::IoWait(waited) => write!(out, " iowait={}", u8::from(waited)),
        Val::Number(n) => write!(out, " {key}={n}"),
        Val::Bits(bits) => write!(out, " {key}=0x{bits:x}"),
        Val::Pointer(at) | Val::Function(at, None) => write!(out, " {key}=0x{at:x}"),
        Val::Function(_, Some(name)) => write!(out, " {key}={}", Line(name)),
        Val::Comm(pid, name) => {
            let arrow = if key == "next_comm" { " ==>" } else { "" };
            let name = if pid == 0 { "swapper" } else { name.unwrap_or("<...>") };
            write!(out, "{arrow} {key}={}", Line(name))
        }
        Val::Text(text) => write!(out, " {key}={}", Line(text)),
        Val::Cpus(cpus) => write!(out, " {key}={cpus}"),
        Val::Reason(reason) => write!(out, " ({reason})"),
        Val::PrevState(state) => write!(out, " {key}={}", State(state)),
        Val::Mode(mode) => write!(out, " {key}={}", Mode(mode)),
        Val::Flags(flags) => write!(out, " {}", Flags(flags)),
        Val::Dependency(bits) => write!(out, " {key}={}", Dependency(bits)),
        Val::Below(below) => write!(out, " type={}", if below { "below" } else { "above" }),
        Val::ArmedAt(expires, now) => write!(out, " [timeout={}]", expires.wrapping_sub(now) as i64),
        Val::Softirq(vec) => match usize::try_from(vec).ok().and_then(|i| SOFTIRQS.get(i)) {
            Some(name) => write!(out, " vec={vec} [action={name}]"),
            None => write!(out, " vec={vec}"),
        },
    }
}

/// A text that must not end its line.
struct Line<'a>(&'a str);

impl fmt::Display for Line<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.contains(char::is_control) {
            f.pad(&self.0.replace(char::is_control, " "))
        } else {
            f.pad(self.0)
        }
    }
}

/// `prev_state` in letters; as a number where these do not tell all of it.
struct State(u64);

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= 2 * PREEMPTED {
            return write!(f, "{}", self.0);
        }
        let set: Vec<String> = (STATES.iter().enumerate())
            .filter(|(bit, _)| self.0 & 1 << bit != 0)
            .map(|(_, letter)| letter.to_string())
            .collect();
        let plus = if self.0 & PREEMPTED != 0 { "+" } else { "" };
        if set.is_empty() { write!(f, "R{plus}") } else { write!(f, "{}{plus}", set.join("|")) }
    }
}

struct Mode(u32);

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 15 {
            return write!(f, "{}", self.0);
        }
        f.write_str(if self.0 & 1 == 0 { "ABS" } else { "REL" })?;
        MODES.iter().filter(|(bit, _)| self.0 & bit != 0).try_for_each(|(_, word)| write!(f, "|{word}"))
    }
}

struct Flags(u32);

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cpu={} idx={} flags=", self.0 & 0x3_ffff, self.0 >> 22)?;
        let set: Vec<&str> =
            FLAGS.iter().filter(|(bit, _)| self.0 & bit != 0).map(|(_, word)| *word).collect();
        f.write_str(&set.join("|"))
    }
}

struct Dependency(u32);

impl fmt::Display for Dependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set: Vec<&str> = DEPENDENCIES
            .iter()
            .enumerate()
            .filter(|(bit, _)| self.0 & 1 << bit != 0)
            .map(|(_, w)| *w)
            .collect();
        match self.0 {
            0 => f.write_str("NONE"),
            bits if bits >> DEPENDENCIES.len() != 0 => write!(f, "{bits}"),
            _ => f.write_str(&set.join("|")),
        }
    }
}
