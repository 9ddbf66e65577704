// SPDX-License-Identifier: GPL-2.0-only
//! Lines that babeltrace prints of a CTF trace (LTTng):
//!
//! ```text
//! [17:46:22.794569892] (+0.000002220) host sched_switch: { cpu_id = 5 }, { prev_comm = "a", prev_tid = 0, ... }
//! ```
//!
//! The first braces hold the packet's CPU, those between them and the last ones the contexts, the last ones the fields.

use memchr::memmem;

use super::values::{digits, trim};
use crate::ctf;

const DAY_S: u64 = 86_400;

/// What of earlier lines later ones depend on.
#[derive(Debug, Default)]
pub(super) struct Babeltrace {
    /// The last time of day, s.
    last_s: u64,
    /// Seconds of the days that have passed.
    days_s: u64,
}

/// The parts of an event's line.
struct Parts<'l> {
    stamp: &'l [u8],
    name: &'l str,
    groups: Vec<&'l [u8]>,
}

impl<'l> Parts<'l> {
    fn of(line: &'l [u8]) -> Option<Self> {
        let line = trim(line).strip_prefix(b"[")?;
        let end = line.iter().position(|b| *b == b']')?;
        let (stamp, rest) = line.split_at_checked(end)?;
        let body = memmem::find(rest, b": { ")?;
        let name = rest.get(..body)?.rsplit(|b| b.is_ascii_whitespace()).next()?;
        let groups = split(rest.get(body + 2..)?);
        let braced = |group: &'l [u8]| Some(trim(trim(group).strip_prefix(b"{")?.strip_suffix(b"}")?));
        let groups = groups.into_iter().map(braced).collect::<Option<_>>()?;
        Some(Self { stamp, name: std::str::from_utf8(name).ok().filter(|name| !name.is_empty())?, groups })
    }

    fn cpu(&self) -> Option<u64> {
        let contexts = self.groups.split_last().map_or(&[][..], |(_, contexts)| contexts);
        contexts.iter().flat_map(|group| members(group)).find_map(|(key, value)| {
            let (cpu, n) = digits(value).filter(|_| key == b"cpu_id")?;
            (n == value.len()).then_some(cpu)
        })
    }
}

impl Babeltrace {
    pub(super) fn is_event(line: &[u8]) -> bool {
        line.trim_ascii_start().starts_with(b"[")
            && Parts::of(line).is_some_and(|parts| parts.cpu().is_some() && seconds(parts.stamp).is_some())
    }

    /// Writes a line as a tracer would; one that is no event as it is.
    pub(super) fn line(&mut self, line: &[u8], out: &mut Vec<u8>) {
        if self.event(line, out).is_none() {
            out.extend(line);
        }
        out.push(b'\n');
    }

    fn event(&mut self, line: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let parts = Parts::of(line)?;
        let cpu = parts.cpu()?;
        let ((s, ns), of_day) = seconds(parts.stamp)?;
        if of_day && s + DAY_S / 2 < self.last_s {
            self.days_s += DAY_S;
        }
        self.last_s = s;
        let s = s + self.days_s;
        let (fields, contexts) = parts.groups.split_last()?;
        let context = |names: [&[u8]; 2]| {
            let mut all = contexts.iter().flat_map(|group| members(group));
            all.find(|(key, _)| names.contains(key)).map(|(_, value)| value)
        };
        if let Some(tid) = context([b"tid", b"perf_tid"]) {
            out.extend(unquoted(context([b"procname", b"perf_comm"]).unwrap_or(b"<...>")));
            out.push(b'-');
            out.extend(tid);
        }
        let (system, name) = ctf::kernel_name(parts.name);
        out.extend(format!(" [{cpu:03}] {s}.{ns:09}: {system}:{name}:").as_bytes());
        for (key, value) in members(fields) {
            let lttng = !parts.name.contains(':');
            let Some((key, add)) = std::str::from_utf8(key).ok().map(|key| ctf::kernel_field(key, lttng))
            else {
                continue;
            };
            let value = plain(value);
            match std::str::from_utf8(value).ok().and_then(|value| value.parse::<i64>().ok()) {
                Some(number) if add != 0 => {
                    out.extend(format!(" {key}={}", number.saturating_add(add.into())).as_bytes());
                }
                _ => {
                    out.extend(format!(" {key}=").as_bytes());
                    out.extend(value);
                }
            }
        }
        Some(())
    }
}

/// Seconds and ns of a stamp, and whether they are of the day: `17:46:22.794569892`, a date before it, or seconds alone.
fn seconds(stamp: &[u8]) -> Option<((u64, u64), bool)> {
    let time = stamp.rsplit(|b| *b == b' ').next()?;
    let point = time.iter().position(|b| *b == b'.')?;
    let (whole, fraction) = time.split_at_checked(point)?;
    let (ns, n) = digits(fraction.get(1..)?)?;
    if n != 9 || n + 1 != fraction.len() {
        return None;
    }
    let of_day = whole.contains(&b':');
    let s = whole.split(|b| *b == b':').try_fold(0u64, |sum, part| {
        let (value, n) = digits(part)?;
        (n == part.len()).then(|| sum.checked_mul(60)?.checked_add(value)).flatten()
    })?;
    Some(((s, ns), of_day))
}

/// The pieces between commas that are in no quotation and no bracket.
fn split(text: &[u8]) -> Vec<&[u8]> {
    let (mut pieces, mut from, mut depth, mut quoted, mut escaped) = (Vec::new(), 0, 0u32, false, false);
    for (at, b) in text.iter().enumerate() {
        match b {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                pieces.push(text.get(from..at).unwrap_or_default());
                from = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(text.get(from..).unwrap_or_default());
    pieces
}

/// The members `key = value` of a group.
fn members(group: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    split(group).into_iter().filter_map(|member| {
        let at = memmem::find(member, b" = ")?;
        Some((trim(member.get(..at)?), trim(member.get(at + 3..)?)))
    })
}

/// A value in the words of a tracer: without quotation marks, an enumeration as its number.
fn plain(value: &[u8]) -> &[u8] {
    const NUMBER: &[u8] = b"container = ";
    if let Some(inner) = value.strip_prefix(b"(").and_then(|value| value.strip_suffix(b")"))
        && let Some(at) = memmem::rfind(inner, NUMBER)
    {
        return trim(inner.get(at + NUMBER.len()..).unwrap_or_default());
    }
    unquoted(value)
}

fn unquoted(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value)
}
