// SPDX-License-Identifier: GPL-2.0-only
use std::net::IpAddr;

/// Folders of the kernel's own above those of CPUs: they tell no machine from another.
const KERNELS_OWN: [&str; 6] = ["sys", "devices", "system", "bus", "cpu", "cpuidle"];

/// Words that, alone or with a number, name one of several snapshots of a machine, and not a machine.
const TIMES: [&str; 24] = [
    "after",
    "before",
    "begin",
    "end",
    "first",
    "i",
    "iter",
    "iteration",
    "last",
    "loop",
    "new",
    "old",
    "pass",
    "post",
    "pre",
    "round",
    "run",
    "sample",
    "snap",
    "snapshot",
    "start",
    "step",
    "stop",
    "t",
];

/// Where a dump comes from, as far as the text around it shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DumpOrigin {
    /// The machine or kernel: leading folders, or the name that `uname`, a shell's prompt, or a program that asks several
    /// machines prints; empty if nothing shows it.
    pub host: String,
    /// Which of the machine's snapshots: `before`, `iter-1`; may be empty.
    pub time: String,
    /// The kernel's release, where the text shows it.
    pub release: Option<String>,
}

impl DumpOrigin {
    /// By what stands before a path of sysfs on its line.
    pub(crate) fn before_path(before: &str) -> Self {
        let mut origin = Self::default();
        let words: Vec<&str> = before.split_whitespace().collect();
        // `host: /sys/...` has one word before the path; more of them are a sentence or a command.
        let adjacent = !before.ends_with(char::is_whitespace);
        let named = match words.as_slice() {
            [one] | [.., one] if adjacent => *one,
            [one] if one.ends_with([':', ']', '|']) => *one,
            _ => return origin,
        };
        let mut parts: Vec<&str> = named.split('/').collect();
        while parts.last().is_some_and(|p| p.is_empty() || *p == "." || KERNELS_OWN.contains(p)) {
            parts.pop();
        }
        // `ro|path|value` has a mode there, `grep -n` a line's number.
        let parts =
            parts.into_iter().flat_map(|p| p.split([':', '|', '[', ']', '(', ')', '<', '>', '"', '\'']));
        let line_number =
            |p: &&str| p.bytes().all(|b| b.is_ascii_digit()) && named.contains(&format!("{p}:"));
        let parts = parts.filter(|p| !["", ".", "..", "ro", "rw"].contains(p) && !line_number(p));
        let (mut host, mut time) = (Vec::new(), Vec::new());
        for part in parts {
            if is_time(part) { time.push(part) } else { host.push(part) }
        }
        (origin.host, origin.time) = (host.join("/"), time.join("/"));
        origin
    }

    /// By a line that holds no value: the output of `uname -a`, `/proc/version`, or a prompt such as `[root@host ~]# `.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().take(4).collect();
        let is_release = |w: &str| w.starts_with(|c: char| c.is_ascii_digit()) && w.matches('.').count() >= 1;
        if let ["Linux", host, release, ..] = words.as_slice()
            && is_release(release)
        {
            let host = if *host == "version" { "" } else { host };
            return Some(Self {
                host: host.to_string(),
                release: Some((*release).to_string()),
                ..Self::default()
            });
        }
        let (user, rest) = line.split_once('@')?;
        let plain =
            |s: &str| !s.is_empty() && s.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
        let (prompt, _) = rest.split_at_checked(rest.find(['#', '$'])?)?;
        let host = prompt.split([':', ' ', ']']).next().filter(|h| plain(h))?;
        let ended = rest.get(prompt.len() + 1..).is_some_and(|r| r.is_empty() || r.starts_with(' '));
        let is_prompt =
            plain(user.trim_start_matches('[')) && ended && prompt.len() > host.len() && prompt.len() < 100;
        is_prompt.then(|| Self { host: host.to_string(), ..Self::default() })
    }

    /// The dump's name; empty where nothing names it.
    #[must_use]
    pub fn name(&self) -> String {
        let parts = [self.host.as_str(), self.time.as_str()].into_iter().filter(|p| !p.is_empty());
        parts.collect::<Vec<_>>().join("/")
    }
}

/// Whether `part` names a time: a date, a number, or one of [`TIMES`] with or without a number.
fn is_time(part: &str) -> bool {
    let stem = part
        .rsplit_once('.')
        .filter(|(_, e)| ["txt", "log", "out"].contains(e))
        .map_or(part, |(stem, _)| stem);
    let stem = stem.to_lowercase();
    let mut words = stem.split(|c: char| !c.is_alphabetic()).filter(|w| !w.is_empty());
    stem.parse::<IpAddr>().is_err() && words.all(|w| TIMES.contains(&w))
}
