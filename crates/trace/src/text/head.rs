// SPDX-License-Identifier: GPL-2.0-only
//! The start of a line: who, where, when, what. All tools print the same things, each in its own way:
//!
//! ```text
//! comm-pid   (tgid) [cpu] flags seconds: event: fields      the kernel's trace and trace_pipe, atrace
//! comm-pid          [cpu]       seconds: event: fields      trace-cmd report
//! comm-pid          cpuflags    seconds: event: fields      trace-cmd report -l
//! comm-pid          cpuflags    12us+: event: fields        the kernel's latency-format
//! comm  pid         [cpu]       seconds: system:event: fields           perf script
//! comm  pid/tid     [cpu]       seconds: period system:event: fields    perf script -F pid,tid,period,...
//!                   [cpu]       seconds: event: fields      without a task, as people cut lines
//! ```
//!
//! A comm may hold anything: spaces, dashes, brackets, colons. So a line is searched for the place where everything fits.

use memchr::{memchr, memchr_iter};

use super::values::{MOST_NAME, digits, state, trim, trim_start};
use crate::kernel::meaning::system_of;

/// The kernel is built for 8192 CPUs at most.
pub(super) const MOST_CPUS: u32 = 1 << 16;

/// The resolution of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grain {
    /// Seconds with nine digits behind the point.
    Nano,
    /// Seconds with fewer digits.
    Micro,
    /// Whole microseconds, from the start of the trace.
    SinceStart,
    /// A whole number of an unknown unit (clock `counter`, `x86-tsc`, `uptime`).
    Unknown,
}

/// Whose spelling a line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `comm-pid [cpu]`.
    Ftrace,
    /// `comm-pid cpuflags`.
    Latency,
    /// `comm pid [cpu]`.
    Perf,
}

/// The start of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head<'l> {
    pub(super) comm: &'l [u8],
    /// -1 where the line does not tell.
    pub(super) pid: i32,
    pub(super) cpu: u32,
    pub(super) ts_ns: u64,
    pub(super) grain: Grain,
    pub(super) style: Style,
    /// What follows the time.
    pub(super) rest: &'l [u8],
}

/// Who was running: comm, pid, and whether perf wrote it.
type Who<'l> = (&'l [u8], i32, bool);

impl<'l> Head<'l> {
    /// Reads the start of a line; `None` if it has none.
    #[inline]
    pub(super) fn parse(line: &'l [u8]) -> Option<Self> {
        bracketed(line).or_else(|| latency(line))
    }
}

/// `who [cpu] flags time: rest`.
fn bracketed(line: &[u8]) -> Option<Head<'_>> {
    memchr_iter(b'[', front(line)).find_map(|at| {
        let (cpu, n) = digits(line.get(at + 1..)?)?;
        let after = line.get(at + 1 + n..)?.strip_prefix(b"]")?;
        let cpu = u32::try_from(cpu).ok().filter(|cpu| *cpu < MOST_CPUS)?;
        let after = trim_start(after);
        let (ts_ns, grain, rest) = time(after).or_else(|| {
            let flags = memchr(b' ', after)?;
            (flags <= MOST_FLAGS).then(|| time(trim_start(after.get(flags..)?)))?
        })?;
        let (comm, pid, perf) = who(line.get(..at)?)?;
        // The wakeup tracers write `pid:prio:state + [cpu] pid: prio:state` behind their time.
        if pid < 0 && grain == Grain::Unknown {
            return None;
        }
        let style = if perf { Style::Perf } else { Style::Ftrace };
        Some(Head { comm, pid, cpu, ts_ns, grain, style, rest })
    })
}

/// The part of a line that the task is in.
#[inline]
fn front(line: &[u8]) -> &[u8] {
    line.get(..MOST_TASK).unwrap_or(line)
}

/// A comm is 15 characters, with its process in front a few more.
const MOST_TASK: usize = 256;

/// Flags are six characters today.
const MOST_FLAGS: usize = 12;

/// `comm-pid cpuflags time: rest`.
#[cold]
fn latency(line: &[u8]) -> Option<Head<'_>> {
    memchr_iter(b'-', front(line)).find_map(|at| {
        let (pid, n) = digits(line.get(at + 1..)?)?;
        let after = line.get(at + 1 + n..)?;
        let place = trim_start(after);
        if place.len() == after.len() {
            return None;
        }
        let (cpu, n) = digits(place)?;
        let flags = memchr(b' ', place)?;
        if flags == n || flags - n > MOST_FLAGS {
            return None;
        }
        let (ts_ns, grain, rest) = time(trim_start(place.get(flags..)?))?;
        Some(Head {
            comm: trim(line.get(..at)?),
            pid: i32::try_from(pid).ok()?,
            cpu: u32::try_from(cpu).ok().filter(|cpu| *cpu < MOST_CPUS)?,
            ts_ns,
            grain,
            style: Style::Latency,
            rest,
        })
    })
}

/// `comm-pid`, `comm-pid (tgid)`, `comm pid`, `comm pid/tid`; what has no pid is all comm, and may be empty.
#[inline]
fn who(text: &[u8]) -> Option<Who<'_>> {
    let mut text = trim(text);
    if let Some(inner) = text.strip_suffix(b")") {
        let open = inner.iter().rposition(|b| *b == b'(')?;
        text = trim(text.get(..open)?);
    }
    let pid_at = text.iter().rposition(|b| !b.is_ascii_digit()).map_or(0, |p| p + 1);
    let (comm, pid) = text.split_at_checked(pid_at)?;
    let Some((pid, _)) = digits(pid) else {
        return Some((text, -1, false));
    };
    let pid = i32::try_from(pid).ok()?;
    Some(match comm.split_last() {
        // perf writes -1 for a task that is ending.
        Some((b'-', comm)) if comm.ends_with(b" ") => (trim(comm), -1, true),
        Some((b'-', comm)) => {
            comm.strip_suffix(b"/").and_then(process).map_or((comm, pid, false), |comm| (comm, -1, true))
        }
        Some((b' ', comm)) => (trim(comm), pid, true),
        Some((b'/', comm)) => process(comm).map(|comm| (comm, pid, true))?,
        None => (comm, pid, true),
        _ => (text, -1, false),
    })
}

/// The comm of `comm pid`.
fn process(text: &[u8]) -> Option<&[u8]> {
    let at = text.iter().rposition(|b| !b.is_ascii_digit())?;
    let comm = text.get(..at)?;
    (text.get(at) == Some(&b' ') && at + 1 < text.len()).then(|| trim(comm))
}

/// `seconds.digits: `, `number: `, `12us+: ` at the start; also what follows. A comma may stand for the point, with six or nine
/// digits behind it.
#[inline]
fn time(text: &[u8]) -> Option<(u64, Grain, &[u8])> {
    let (whole, n) = digits(text)?;
    let after = text.get(n..)?;
    let (&mark, after) = after.split_first()?;
    match mark {
        b'.' | b',' => {
            let (fraction, n) = digits(after)?;
            let places =
                u32::try_from(n).ok().filter(|n| *n <= 9 && (mark == b'.' || matches!(*n, 6 | 9)))?;
            let rest = after.get(n..)?.strip_prefix(b":")?;
            let ns = whole.checked_mul(1_000_000_000)?.checked_add(fraction * 10u64.pow(9 - places))?;
            Some((ns, if places == 9 { Grain::Nano } else { Grain::Micro }, rest))
        }
        b':' => Some((whole, Grain::Unknown, after)),
        b'u' => {
            // A mark says how long it took to the next event.
            let after = after.strip_prefix(b"s")?.split_first().map(|(_, rest)| rest)?;
            Some((whole.checked_mul(1000)?, Grain::SinceStart, after.strip_prefix(b":")?))
        }
        _ => None,
    }
}

/// Whether a text starts with a time, behind which an event may follow.
pub(super) fn starts_with_time(text: &[u8]) -> bool {
    time(text).is_some_and(|(_, grain, _)| grain != Grain::Unknown)
}

/// Whether a line has a time with a tracer's event behind it and no CPU before it.
pub(super) fn lacks_cpu(line: &[u8]) -> bool {
    memchr_iter(b' ', front(line)).map(|blank| blank + 1).chain([0]).any(|at| {
        let seconds =
            line.get(at..).and_then(time).filter(|(_, grain, _)| matches!(grain, Grain::Nano | Grain::Micro));
        let Some((.., rest)) = seconds else { return false };
        event(Style::Perf, rest).or_else(|| event(Style::Ftrace, rest)).is_some_and(|(name, _)| {
            memchr(b':', name).is_some()
                || std::str::from_utf8(name).is_ok_and(|name| system_of(name).is_some())
        })
    })
}

/// Whether a line has a time in seconds that is more than 64 bits of ns hold.
pub(super) fn beyond_time(line: &[u8]) -> bool {
    line.split(|b| *b == b' ').filter_map(|word| word.strip_suffix(b":")).any(|word| {
        let seconds =
            digits(word).filter(|(_, n)| matches!(word.get(*n), Some(b'.' | b','))).map(|(s, n)| (s, n + 1));
        seconds.is_some_and(|(s, n)| {
            let fraction = word.get(n..).unwrap_or_default();
            let plain = !fraction.is_empty() && fraction.iter().all(u8::is_ascii_digit);
            plain && s >= u64::MAX / 1_000_000_000
        })
    })
}

/// What follows the time: the event's name ("system:name" in perf) and its fields.
#[inline]
pub(super) fn event(style: Style, rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut rest = trim_start(rest);
    // The time since the event before (`trace-cmd report --ts-diff`).
    if rest.starts_with(b"(+")
        && let Some(end) = memchr(b')', rest)
    {
        rest = trim_start(rest.get(end + 1..)?);
    }
    if rest.first().is_some_and(u8::is_ascii_digit)
        && let Some(name) = of_wakeup_tracers(rest)
    {
        return Some((name, rest));
    }
    let end = if style == Style::Perf || names_system(rest) {
        // A period may come first.
        if let Some((_, n)) = digits(rest)
            && rest.get(n) == Some(&b' ')
        {
            rest = trim_start(rest.get(n..)?);
        }
        let word = memchr(b' ', rest).unwrap_or(rest.len());
        let name = rest.get(..word)?.strip_suffix(b":")?;
        is_tracepoint(name).then_some(name.len())?
    } else {
        memchr(b':', rest)?
    };
    let (name, fields) = rest.split_at_checked(end)?;
    let sound = !name.is_empty() && name.len() <= MOST_NAME && !name.contains(&b' ');
    sound.then(|| (name, trim(fields.get(1..).unwrap_or_default())))
}

/// Whether an event's name is `system:name`, which perf writes, also behind a time alone (`-F time,cpu,event,trace`).
#[inline]
fn names_system(rest: &[u8]) -> bool {
    let word = rest.get(..memchr(b' ', rest).unwrap_or(rest.len())).unwrap_or_default();
    word.strip_suffix(b":").is_some_and(|name| {
        memchr(b':', name).is_some_and(|at| at > 0 && at + 1 < name.len())
            && name.iter().all(|b| b.is_ascii_alphanumeric() || b"_:-.".contains(b))
    })
}

/// The event that a line of the tracers `wakeup`, `wakeup_rt` and `wakeup_dl` means.
#[cold]
fn of_wakeup_tracers(rest: &[u8]) -> Option<&'static [u8]> {
    TwoTasks::parse(rest).map(|tasks| if tasks.switch { &b"sched_switch"[..] } else { b"sched_wakeup" })
}

/// A line of the wakeup tracers: `pid:prio:state ==> [cpu] pid: prio:state comm`, with `+` where the first task wakes the
/// second one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TwoTasks {
    pub(super) switch: bool,
    pub(super) prev_pid: u64,
    pub(super) prev_prio: u64,
    pub(super) prev_state: u64,
    /// Where the second task is to run.
    pub(super) cpu: u64,
    pub(super) next_pid: u64,
    pub(super) next_prio: u64,
}

impl TwoTasks {
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let number = |text| {
            let text = trim_start(text);
            let (value, n) = digits(text)?;
            Some((value, text.get(n..)?))
        };
        let (prev_pid, text) = number(text)?;
        let (prev_prio, text) = number(text.strip_prefix(b":")?)?;
        let text = text.strip_prefix(b":")?;
        let prev_state = state(text.get(..1)?)?;
        let text = trim_start(text.get(1..)?);
        let switch = text.starts_with(b"==>");
        let text = trim_start(text.strip_prefix(b"==>").or_else(|| text.strip_prefix(b"+"))?);
        let (cpu, text) = number(text.strip_prefix(b"[")?)?;
        let (next_pid, text) = number(text.strip_prefix(b"]")?)?;
        let (next_prio, _) = number(text.strip_prefix(b":")?)?;
        Some(Self { switch, prev_pid, prev_prio, prev_state, cpu, next_pid, next_prio })
    }
}

/// What is no tracepoint has no system; `cycles:u` has modifiers instead (perf-list(1)).
#[inline]
fn is_tracepoint(name: &[u8]) -> bool {
    let event = memchr(b':', name).and_then(|at| name.get(at + 1..)).unwrap_or_default();
    event.len() > 3 || event.iter().any(|b| !b"ukhIGHpPSDeW".contains(b))
}
