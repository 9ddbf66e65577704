// SPDX-License-Identifier: GPL-2.0-only
//! Lines that name a file of sysfs and its value, in the forms in which programs and people print them: `path:value`,
//! `path:1:value` (`grep -n`), `path = value`, `path value`, `ro|path|value`, each behind a file's or a machine's name or not.

/// More states than any kernel has (`CPUIDLE_STATE_MAX` is 10): a greater number is no state's.
pub(crate) const STATES_MAX: usize = 64;

/// The files of a state. Where the path does not show that a folder is one of cpuidle's, these do.
const FILES: [&str; 14] = [
    "above",
    "below",
    "default_status",
    "desc",
    "disable",
    "latency",
    "name",
    "power",
    "rejected",
    "residency",
    "s2idle/time",
    "s2idle/usage",
    "time",
    "usage",
];

/// What a path is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key<'a> {
    State {
        cpu: Option<u32>,
        state: usize,
        file: &'a str,
    },
    /// A pattern of a shell, `state*/usage`: the file of every state.
    EachState {
        cpu: Option<u32>,
        file: &'a str,
    },
    Capacity(u32),
    At(u32),
    Driver,
    Governor,
    Other,
}

/// A line that names a file of sysfs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SysfsLine<'a> {
    /// What is before the path's own part: leading folders, a file's name and line number, a machine's name.
    pub(crate) before: &'a str,
    /// From `cpuN`, `cpuidle` or `stateN` on.
    pub(crate) path: &'a str,
    /// Nothing where the line ends with the path.
    pub(crate) value: Option<&'a str>,
}

impl<'a> SysfsLine<'a> {
    /// The line's first path that is about idle states; `None` where there is none.
    pub(crate) fn parse(line: &'a str) -> Option<Self> {
        let ends = |c: char| c.is_whitespace() || ":|='\"`".contains(c);
        let mut at = 0;
        for word in line.split_inclusive(ends) {
            let path = word.trim_end_matches(ends);
            if let Some(own) = own_part(path) {
                let (before, rest) = line.split_at_checked(at + own)?;
                let (path, rest) = rest.split_at_checked(path.len() - own)?;
                return Some(Self { before, path, value: value(path, rest)? });
            }
            at += word.len();
        }
        None
    }
}

/// Where in `path` the part begins that says what it is about: after the folders above all CPUs'.
fn own_part(path: &str) -> Option<usize> {
    if key(path) == Key::Other {
        return None;
    }
    let mut at = 0;
    for part in path.split('/') {
        let own = numbered(part, "cpu").is_some()
            || ["cpuidle", "state*", "current_driver", "current_governor", "current_governor_ro"]
                .contains(&part)
            || numbered(part, "state").is_some();
        if own {
            return Some(at);
        }
        at += part.len() + 1;
    }
    None
}

/// The value in what follows a path: `Some(None)` where nothing does, `None` where what follows is no value but prose.
fn value<'a>(path: &str, rest: &'a str) -> Option<Option<&'a str>> {
    let spaced = rest.trim_start_matches(['"', '\'', '`']).trim_start();
    let Some(value) = spaced.strip_prefix([':', '=', '|']) else {
        return match spaced.trim_end() {
            "" => Some(None),
            // A path within a sentence or a command has words behind it.
            one if rest.starts_with(char::is_whitespace) && (is_text(path) || number(one).is_some()) => {
                Some(Some(one))
            }
            _ => None,
        };
    };
    // Files of sysfs have one line: `grep -n` gives it the number 1.
    let numbered = if spaced.starts_with(':') { value.strip_prefix("1:") } else { None };
    let value = numbered.unwrap_or(value).trim();
    Some((!value.is_empty()).then_some(value))
}

/// Whether the file at `path` holds a text, and not a number.
pub(crate) fn is_text(path: &str) -> bool {
    let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
    file.starts_with("current_") || ["name", "desc", "default_status"].contains(&file)
}

/// What `path` is about, whatever its leading folders.
pub(crate) fn key(path: &str) -> Key<'_> {
    let mut cpu = None;
    let mut offset = 0;
    for part in path.split('/') {
        let rest = path.get(offset + part.len() + 1..).unwrap_or_default();
        if let Some(n) = numbered(part, "cpu") {
            cpu = u32::try_from(n).ok();
        } else if part == "state*" && is_cpuidle(path, offset, rest) {
            return Key::EachState { cpu, file: rest };
        } else if let Some(state) = numbered(part, "state") {
            return if state < STATES_MAX && is_cpuidle(path, offset, rest) {
                Key::State { cpu, state, file: rest }
            } else {
                Key::Other
            };
        } else if part == "cpu_capacity"
            && rest.is_empty()
            && let Some(cpu) = cpu
        {
            return Key::Capacity(cpu);
        } else if part == "at_ns"
            && rest.is_empty()
            && let Some(cpu) = cpu
        {
            return Key::At(cpu);
        }
        offset += part.len() + 1;
    }
    match path.rsplit_once('/').map_or(path, |(_, last)| last) {
        "current_driver" => Key::Driver,
        "name" if path.ends_with("cpuidle/driver/name") => Key::Driver,
        "current_governor" | "current_governor_ro" => Key::Governor,
        _ => Key::Other,
    }
}

/// `stateN` counts below `cpuidle/`, or at the start of a relative path; other parts of sysfs have states, too. In a folder
/// of the user's it counts with the files of an idle state.
fn is_cpuidle(path: &str, offset: usize, file: &str) -> bool {
    let before = path.get(..offset).unwrap_or_default();
    let some_file = !file.is_empty() && file.split('/').count() <= 2;
    let below_cpuidle = before.is_empty() || before == "./" || before.ends_with("cpuidle/");
    let own_folder = !before.starts_with('/') && !before.contains("sys/");
    some_file && (below_cpuidle || own_folder && FILES.contains(&file))
}

/// The number behind `word`.
fn numbered(part: &str, word: &str) -> Option<usize> {
    let digits = part.strip_prefix(word)?;
    if digits.starts_with(|c: char| c.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// A whole number, decimal or hexadecimal with `0x`.
pub(crate) fn number(value: &str) -> Option<u64> {
    match value.strip_prefix("0x") {
        Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None => value.parse().ok(),
    }
}
