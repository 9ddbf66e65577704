// SPDX-License-Identifier: GPL-2.0-only
//! Text of the tracer `function_graph`, which has events as comments between the functions that it shows. Their times are
//! there with its option `funcgraph-abstime`, their tasks with `funcgraph-proc`:
//!
//! ```text
//!   763619.464429 |   3)    <idle>-0    |               |  /* cpu_idle: state=2 cpu_id=3 */
//! ```

use memchr::memmem;

use super::values::{digits, trim};

/// An event of such a text.
struct Comment<'l> {
    time: Option<&'l [u8]>,
    cpu: u64,
    /// `comm-pid`, or nothing.
    task: &'l [u8],
    event: &'l [u8],
}

impl<'l> Comment<'l> {
    fn parse(line: &'l [u8]) -> Option<Self> {
        let at = memmem::find(line, b"/* ")?;
        let event = trim(trim(line.get(at + 3..)?).strip_suffix(b"*/")?);
        let mut columns = line.get(..at)?.split(|b| *b == b'|').map(trim);
        let mut column = columns.next()?;
        let time = Some(column).filter(|column| is_time(column));
        if time.is_some() {
            column = columns.next()?;
        }
        let (cpu, n) = digits(column)?;
        let task = trim(column.get(n..)?.strip_prefix(b")")?);
        let pid = task.iter().rposition(|b| *b == b'-').and_then(|at| task.get(at + 1..));
        let named = pid.is_some_and(|pid| digits(pid).is_some_and(|(_, n)| n == pid.len()));
        Some(Self { time, cpu, task: if named { task } else { b"" }, event })
    }
}

fn is_time(text: &[u8]) -> bool {
    let fraction = digits(text).and_then(|(_, n)| text.get(n..)?.strip_prefix(b"."));
    fraction.and_then(|fraction| Some(digits(fraction)?.1 == fraction.len())) == Some(true)
}

/// Whether a line is one of such a text.
pub(super) fn is_line(line: &[u8]) -> bool {
    line.starts_with(b"# tracer: function_graph")
        || Comment::parse(line).is_some_and(|comment| is_event(comment.event))
}

/// Whether a comment begins with an event's name.
fn is_event(text: &[u8]) -> bool {
    let name = text.iter().position(|b| *b == b':').and_then(|end| text.get(..end));
    name.is_some_and(|name| !name.is_empty() && name.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_'))
}

/// Writes a line as other tracers print it: an event, or nothing for a function. One without a time stays as it is.
pub(super) fn restore(line: &[u8], out: &mut Vec<u8>) {
    if line.starts_with(b"#") || line.starts_with(b"CPU:") {
        out.extend(line);
    } else if let Some(comment) = Comment::parse(line).filter(|comment| is_event(comment.event)) {
        match comment.time {
            Some(time) => {
                out.extend(comment.task);
                out.extend(format!(" [{}] ", comment.cpu).bytes());
                out.extend(time);
                out.extend(b": ");
                out.extend(comment.event);
            }
            None => out.extend(line),
        }
    }
    out.push(b'\n');
}
