// SPDX-License-Identifier: GPL-2.0-only
//! Words and numbers of a line as the numbers that they stand for.

/// The number at the start and how many digits it has.
#[inline]
pub(super) fn digits(text: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    let mut n = 0;
    for b in text {
        let d = b.wrapping_sub(b'0');
        if d > 9 {
            break;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(d))?;
        n += 1;
    }
    (n > 0).then_some((value, n))
}

#[inline]
pub(super) fn trim_start(text: &[u8]) -> &[u8] {
    let n = text.iter().position(|b| *b != b' ' && *b != b'\t').unwrap_or(text.len());
    text.get(n..).unwrap_or_default()
}

#[inline]
pub(super) fn trim(text: &[u8]) -> &[u8] {
    let text = trim_start(text);
    let n = text.iter().rposition(|b| !matches!(b, b' ' | b'\t' | b'\r')).map_or(0, |p| p + 1);
    text.get(..n).unwrap_or_default()
}

#[inline]
fn hex(text: &[u8]) -> Option<u64> {
    if text.is_empty() || text.len() > 16 {
        return None;
    }
    text.iter().try_fold(0u64, |value, b| {
        let d = match b {
            b'0'..=b'9' => b - b'0',
            b'a'..=b'f' => b - b'a' + 10,
            b'A'..=b'F' => b - b'A' + 10,
            _ => return None,
        };
        Some(value << 4 | u64::from(d))
    })
}

/// A number with or without sign, decimal (zeros in front mean nothing) or with 0x; in brackets where the tracer's
/// option `fields` puts them; "yes" and "no" of old kernels.
#[inline]
pub(super) fn number(text: &[u8]) -> Option<u64> {
    if let Some((value, n)) = digits(text)
        && n == text.len()
    {
        return Some(value);
    }
    odd_number(text)
}

#[inline(never)]
fn odd_number(text: &[u8]) -> Option<u64> {
    if let Some(rest) = text.strip_prefix(b"0x") {
        return hex(rest);
    }
    if let Some(rest) = text.strip_prefix(b"-") {
        return digits(rest).filter(|(_, n)| *n == rest.len()).map(|(value, _)| value.wrapping_neg());
    }
    match text {
        b"yes" => Some(1),
        b"no" => Some(0),
        _ => number(text.strip_prefix(b"(")?.strip_suffix(b")")?),
    }
}

/// An address, hashed or not, with or without 0x; 0 where a word stands for it.
#[inline]
pub(super) fn pointer(text: &[u8]) -> Option<u64> {
    match text.strip_prefix(b"0x").unwrap_or(text) {
        address if is_no_address(address) => Some(0),
        address => hex(address),
    }
}

/// Whether a word in brackets stands for an address: `(nil)` of the C library; of the kernel's `lib/vsprintf.c` `(null)`,
/// `(efault)`, `(einval)` and, before it can hash, `(____ptrval____)`, with 32 bits `(ptrval)`.
fn is_no_address(text: &[u8]) -> bool {
    let word = text.strip_prefix(b"(").and_then(|word| word.strip_suffix(b")"));
    word.is_some_and(|word| {
        !word.is_empty() && word.iter().all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'-'))
    })
}

/// No name of an event, a function or a handler is longer.
pub(super) const MOST_NAME: usize = 128;

/// A function by name: without the offset, which is 0, and the module; an address stays one, 0 is unknown.
pub(super) fn function(text: &[u8]) -> Result<u64, &[u8]> {
    if is_no_address(text) {
        return Ok(0);
    }
    if let Some(address) = text.strip_prefix(b"0x").and_then(hex) {
        return Ok(address);
    }
    if matches!(text.len(), 8 | 16)
        && text.first().is_some_and(u8::is_ascii_digit)
        && let Some(address) = hex(text)
    {
        return Ok(address);
    }
    let text = text.get(..MOST_NAME).unwrap_or(text);
    let end = text.iter().position(|b| matches!(b, b'+' | b'/')).unwrap_or(text.len());
    Err(text.get(..end).unwrap_or_default())
}

/// `prev_state` in the kernel's letters, bits as since 4.14: report mask of `include/linux/sched.h`. `K`, `W`, `N` and
/// the `x` of older kernels have the bits that those gave them. `R+` is a task that was preempted while it could run.
pub(super) fn state(text: &[u8]) -> Option<u64> {
    letters(text, |letter| {
        Some(match letter {
            b'R' => 0,
            b'S' => 1,
            b'D' => 2,
            b'T' => 4,
            b't' => 8,
            b'X' => 0x10,
            b'Z' => 0x20,
            b'P' | b'x' => 0x40,
            b'I' | b'K' => 0x80,
            b'W' => 0x100,
            b'N' => 0x400,
            _ => return None,
        })
    })
}

/// `prev_state` in the letters of libtraceevent's sched_switch plugin. Its first eight stayed when the kernel's bits
/// moved on; `P` and `I` came later.
pub(super) fn short_state(text: &[u8]) -> Option<u64> {
    letters(text, |letter| {
        Some(match letter {
            b'R' => 0,
            b'S' => 1,
            b'D' => 2,
            b'T' => 4,
            b't' => 8,
            b'Z' => 0x10,
            b'X' => 0x20,
            b'x' | b'P' => 0x40,
            b'W' | b'I' => 0x80,
            _ => return None,
        })
    })
}

/// The bit above all that are reported: preempted.
const PREEMPTED: u64 = 0x100;

fn letters(text: &[u8], bit: impl Fn(u8) -> Option<u64>) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0, |bits, b| match b {
        b'|' => Some(bits),
        b'+' => Some(bits | PREEMPTED),
        letter => Some(bits | bit(*letter)?),
    })
}

/// Words joined by `|`, as bits.
fn words(text: &[u8], bit: impl Fn(&[u8]) -> Option<u64>) -> Option<u64> {
    text.split(|b| *b == b'|').try_fold(0, |bits, word| Some(bits | bit(word)?))
}

/// The `mode` of an hrtimer: `ABS|PINNED|HARD`, bits of `include/linux/hrtimer.h`.
pub(super) fn mode(text: &[u8]) -> Option<u64> {
    words(text, |word| {
        Some(match word {
            b"ABS" => 0,
            b"REL" => 1,
            b"PINNED" => 2,
            b"SOFT" => 4,
            b"HARD" => 8,
            _ => return number(word),
        })
    })
}

/// All letters that a timer's flags are printed with. libtraceevent (in trace-cmd 3.1 and perf 6.1) prints all of them for
/// every timer, whatever it has. The kernel means it: a deferrable delayed work on a chosen CPU has all three.
pub(super) const ALL_FLAGS: &[u8] = b"D|P|I";

/// The `flags` of a wheel timer: `D|P|I`, bits of `include/linux/timer.h`.
pub(super) fn timer_flags(text: &[u8]) -> Option<u64> {
    words(text, |word| {
        Some(match word {
            b"" => 0,
            b"M" => 0x4_0000,
            b"D" => 0x8_0000,
            b"P" => 0x10_0000,
            b"I" => 0x20_0000,
            _ => return number(word),
        })
    })
}

/// What keeps the tick, by name; bits of `include/linux/tick.h`.
pub(super) fn dependency(text: &[u8]) -> Option<u64> {
    words(text, |word| {
        Some(match word {
            b"NONE" => 0,
            b"POSIX_TIMER" => 1,
            b"PERF_EVENTS" => 2,
            b"SCHED" => 4,
            b"CLOCK_UNSTABLE" => 8,
            b"RCU" => 16,
            b"RCU_EXP" => 32,
            _ => return number(word),
        })
    })
}

/// The verdict of a `cpu_idle_miss`.
pub(super) fn below(text: &[u8]) -> Option<u64> {
    match text {
        b"below" => Some(1),
        b"above" => Some(0),
        _ => None,
    }
}
