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
    /// The machine or kernel: leading folders, or the name that `uname`, `hostname`, a shell's prompt, or a program that asks
    /// several machines prints; empty if nothing shows it.
    pub host: String,
    /// Which of the machine's snapshots: `before`, `iter-1`; may be empty.
    pub time: String,
    /// The kernel's release, where the text shows it.
    pub release: Option<String>,
    /// `/proc/sys/kernel/random/boot_id`, without dashes.
    pub boot_id: Option<String>,
    /// `/proc/cmdline`, which holds for one boot.
    pub command_line: Option<String>,
    /// `/proc/uptime`, in 10 ms.
    pub uptime: Option<u64>,
}

impl DumpOrigin {
    /// By what stands before a path of sysfs on its line.
    pub(crate) fn before_path(before: &str) -> Self {
        let mut origin = Self::default();
        let words: Vec<&str> = before.split_whitespace().collect();
        // Right before the path: folders, or a host and a colon.
        let adjacent = !before.ends_with(char::is_whitespace);
        let (folders, words) = match words.split_last() {
            Some((last, words)) if adjacent => (*last, words),
            _ => ("", words.as_slice()),
        };
        // `host: /sys/...`, `[host] /sys/...`, `host | /sys/...`, a host and a tab; other words are a sentence or a command.
        let named = match words {
            [one] if one.ends_with([':', ']', '|']) => one.trim_matches(AROUND),
            [one] if before.trim_start().strip_prefix(one).is_some_and(|rest| rest.starts_with('\t')) => one,
            [one, "|" | "->" | "out:"] => one.trim_matches(AROUND),
            _ => "",
        };
        let host = if is_name(named) || named.contains('/') { named } else { "" };
        let mut parts: Vec<&str> = folders.split('/').collect();
        while parts.last().is_some_and(|p| p.is_empty() || *p == "." || KERNELS_OWN.contains(p)) {
            parts.pop();
        }
        // `ro|path|value` has a mode there, `grep -n` a line's number.
        let parts = host.split('/').chain(parts).flat_map(|p| p.split(AROUND));
        let line_number =
            |p: &&str| p.bytes().all(|b| b.is_ascii_digit()) && before.contains(&format!("{p}:"));
        let parts = parts.filter(|p| !["", ".", "..", "ro", "rw"].contains(p) && !line_number(p));
        let (mut host, mut time) = (Vec::new(), Vec::new());
        for part in parts {
            if is_time(part) { time.push(part) } else { host.push(part) }
        }
        (origin.host, origin.time) = (host.join("/"), time.join("/"));
        origin
    }

    /// By a line that holds no value of cpuidle's: what `uname` prints, a file below `/proc`, `kernel: 6.12.1`, a prompt such as
    /// `[root@host ~]# `, a command for another machine, or the head of what `ansible` or `pssh` print for each.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        Self::remote(line).or_else(|| Self::prompt(line)).or_else(|| Self::fact(line))
    }

    /// Takes what `other`, of a later line, shows: all of another machine, else what is new.
    pub(crate) fn learn(&mut self, other: Self) {
        if !other.host.is_empty() && !self.host.is_empty() && other.host != self.host {
            *self = other;
            return;
        }
        let text = |own: &mut String, new: String| {
            if !new.is_empty() {
                *own = new
            }
        };
        text(&mut self.host, other.host);
        text(&mut self.time, other.time);
        self.release = other.release.or(self.release.take());
        self.boot_id = other.boot_id.or(self.boot_id.take());
        self.command_line = other.command_line.or(self.command_line.take());
        self.uptime = other.uptime.or(self.uptime);
    }

    /// Takes what `other`, of lines behind, shows of the same machine and was not known.
    pub(crate) fn learn_more(&mut self, other: Self) {
        if self.host.is_empty() || other.host.is_empty() || self.host == other.host {
            let own = self.clone();
            self.learn(other);
            self.learn(own);
        }
    }

    /// Whether a value under `other` may be of the snapshot of this origin: the machine and the snapshot have the same names,
    /// and kernel and boot do not differ.
    pub(crate) fn goes_on(&self, other: &Self) -> bool {
        let same = |a: &Option<String>, b: &Option<String>| a.is_none() || b.is_none() || a == b;
        self.host == other.host
            && self.time == other.time
            && same(&self.release, &other.release)
            && same(&self.boot_id, &other.boot_id)
            && same(&self.command_line, &other.command_line)
    }

    /// `ssh HOST ...`, `adb -s SERIAL ...`; `HOST | CHANGED | rc=0 >>` of ansible, `[1] 12:00:00 [SUCCESS] HOST` of pssh.
    fn remote(line: &str) -> Option<Self> {
        const STATUS: [&str; 6] = ["CHANGED", "SUCCESS", "FAILED", "FAILURE", "[SUCCESS]", "[FAILURE]"];
        let words: Vec<&str> = line.split_whitespace().take(32).collect();
        let name = match words.as_slice() {
            [host, "|", status, "|", ..] if STATUS.contains(status) => *host,
            [number, _, status, host, ..] if number.starts_with('[') && STATUS.contains(status) => *host,
            words => {
                let at = words.iter().position(|w| ["ssh", "adb"].contains(w))?;
                let (before, command) = words.split_at_checked(at)?;
                let (command, arguments) = command.split_first()?;
                // Prose has other words before it.
                let prompt = before.last().is_some_and(|w| w.ends_with(['$', '#', '%', '+', '>']));
                if !(prompt || before.is_empty() && line.contains("cpu")) {
                    return None;
                }
                let mut arguments = arguments.iter();
                if *command == "adb" {
                    arguments.find(|w| **w == "-s")?;
                } else {
                    // Options that have an argument.
                    while arguments.as_slice().first().is_some_and(|w| w.starts_with('-')) {
                        let option = arguments.next()?;
                        if option.len() == 2 && option.contains(['F', 'J', 'i', 'l', 'o', 'p']) {
                            arguments.next()?;
                        }
                    }
                }
                let host = arguments.next()?;
                host.rsplit_once('@').map_or(*host, |(_, host)| host)
            }
        };
        is_name(name).then(|| Self { host: name.to_owned(), ..Self::default() })
    }

    fn prompt(line: &str) -> Option<Self> {
        let (user, rest) = line.split_once('@')?;
        let plain = |s: &str| !s.is_empty() && plain(s);
        let (prompt, _) = rest.split_at_checked(rest.find(['#', '$'])?)?;
        let host = prompt.split([':', ' ', ']']).next().filter(|h| plain(h))?;
        let ended = rest.get(prompt.len() + 1..).is_some_and(|r| r.is_empty() || r.starts_with(' '));
        let is_prompt =
            plain(user.trim_start_matches('[')) && ended && prompt.len() > host.len() && prompt.len() < 100;
        is_prompt.then(|| Self { host: host.to_string(), ..Self::default() })
    }

    /// What a line shows of machine, kernel or boot, behind the name of its file or another name, or by itself.
    fn fact(line: &str) -> Option<Self> {
        const NAMES: [&str; 10] = [
            "boot id",
            "boot_id",
            "host",
            "hostname",
            "kernel",
            "kernel release",
            "kernel version",
            "node",
            "release",
            "static hostname",
        ];
        let named = line.split_once(':').map(|(name, value)| (name.trim().to_lowercase(), value.trim()));
        let named = named.filter(|(name, _)| name.starts_with("/proc/") || NAMES.contains(&name.as_str()));
        let (name, value) = named.unwrap_or_else(|| (String::new(), line.trim()));
        let words: Vec<&str> = value.split_whitespace().collect();
        let file = name.rsplit('/').next()?;
        let of_proc = name.starts_with("/proc/") || name.is_empty();
        let mut fact = Self::default();
        match words.as_slice() {
            ["Linux", host, release, ..] if of_proc && is_release(release) => {
                fact.release = Some((*release).to_owned());
                fact.host = if *host == "version" { String::new() } else { (*host).to_owned() };
            }
            [one] if of_proc && file != "hostname" && is_release(one) => {
                fact.release = Some((*one).to_owned())
            }
            _ if file.starts_with("kernel") || file == "release" => {
                fact.release = words.iter().find(|w| is_release(w)).map(|w| (*w).to_owned());
            }
            [host] if file.contains("host") | (file == "node") && is_name(host) => {
                fact.host = (*host).to_owned()
            }
            [id] if (of_proc || file.starts_with("boot")) && is_boot_id(id) => {
                fact.boot_id = Some(id.replace('-', ""));
            }
            [up, idle] if name == "/proc/uptime" && centiseconds(idle).is_some() => {
                fact.uptime = centiseconds(up);
            }
            [image, ..] if of_proc && (file == "cmdline" || image.starts_with("BOOT_IMAGE=")) => {
                fact.command_line = Some(words.join(" "));
            }
            _ => {}
        }
        (fact != Self::default()).then_some(fact)
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

/// What the lines between dumps show, from each on.
#[derive(Default)]
pub(crate) struct Around<'a> {
    pub(crate) origin: DumpOrigin,
    /// The last two lines, latest first: a name between two rules is a machine's (`clush -b`, `dshbak`).
    last: [&'a str; 2],
    /// A command printed `/proc/uptime`, perhaps behind other things.
    asked_uptime: bool,
}

impl<'a> Around<'a> {
    /// Takes a line that holds no value of cpuidle's.
    pub(crate) fn hear(&mut self, line: &'a str) {
        let is_rule = |line: &str| line.len() > 2 && line.bytes().all(|b| b == b'-');
        let [before, two_before] = self.last;
        let name = if is_rule(line) && is_rule(two_before) { before } else { line };
        let names =
            |name: &str| !name.is_empty() && name.split([',', '[', ']']).all(|n| n.is_empty() || plain(n));
        let answered = if name == line { asks_name(before) && is_name(line) } else { names(name) };
        let origin = if answered {
            let (host, time) = if is_time(name) { ("", name) } else { (name, "") };
            Some(DumpOrigin { host: host.to_owned(), time: time.to_owned(), ..DumpOrigin::default() })
        } else {
            let uptime =
                || self.asked_uptime.then(|| DumpOrigin::fact(&format!("/proc/uptime:{line}"))).flatten();
            DumpOrigin::of_line(line).or_else(uptime)
        };
        self.asked_uptime |= line.contains("/proc/uptime");
        if let Some(origin) = origin {
            self.origin.learn(origin);
        }
        self.last = [line, before];
    }

    /// A dump's line stands between the lines before and those that follow.
    pub(crate) fn interrupt(&mut self) {
        self.last = [""; 2];
    }
}

/// Whether a line is a command that prints the machine's name first.
fn asks_name(line: &str) -> bool {
    let first = line.split([';', '&', '|']).next().unwrap_or(line);
    let mut words = first.split_whitespace().rev();
    match (words.next(), words.next()) {
        (Some("hostname"), None) => true,
        (Some("hostname"), Some(before)) => before.ends_with(['$', '#', '%', '+', '>']),
        (Some("-n"), Some("uname")) | (Some("-s" | "-f"), Some("hostname")) => true,
        (Some("/etc/hostname"), Some("cat")) => true,
        _ => false,
    }
}

/// Whether a text has no other characters than a machine's name.
fn plain(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// What may stand around a machine's name.
const AROUND: [char; 10] = [':', '|', '[', ']', '(', ')', '<', '>', '"', '\''];

/// Whether `word` may be the name of a machine, or its address.
pub(crate) fn is_name(word: &str) -> bool {
    plain(word) && word.contains(|c: char| c.is_ascii_alphabetic()) || word.parse::<IpAddr>().is_ok()
}

/// Whether `word` is a kernel's release: 6.12.41, 6.13.0-rc1.
fn is_release(word: &str) -> bool {
    let (numbers, more) = word.split_at(word.find(['-', '+', '_', '~']).unwrap_or(word.len()));
    let parts: Vec<Option<u32>> = numbers.split('.').map(|n| n.parse().ok()).collect();
    let few = if more.is_empty() { 3..=3 } else { 2..=4 };
    few.contains(&parts.len())
        && parts.iter().all(Option::is_some)
        && parts.first().is_some_and(|n| n.is_some_and(|n| (2..20).contains(&n)))
}

/// Whether `word` is a boot's number, with dashes or without.
fn is_boot_id(word: &str) -> bool {
    let dashes = word.matches('-').count();
    word.len() == 32 + dashes
        && [0, 4].contains(&dashes)
        && word.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
}

/// Seconds with two places, as `/proc/uptime` has them.
fn centiseconds(word: &str) -> Option<u64> {
    let (whole, part) = word.split_once('.')?;
    let part: u64 = part.parse().ok().filter(|_| part.len() == 2)?;
    whole.parse::<u64>().ok()?.checked_mul(100)?.checked_add(part)
}

/// A place among the snapshots of a machine: words such as `before` come first, `after` last, numbers by their value.
pub(crate) fn order_of(time: &str) -> Vec<(u8, u64, String)> {
    const EARLY: [&str; 6] = ["before", "begin", "first", "old", "pre", "start"];
    const LATE: [&str; 6] = ["after", "end", "last", "new", "post", "stop"];
    let mut order: Vec<(u8, u64, String)> = Vec::new();
    let mut rest = time;
    while let Some(first) = rest.chars().next() {
        let kind = |c: char| (c.is_ascii_digit(), c.is_alphanumeric());
        let length = rest.find(|c| kind(c) != kind(first)).unwrap_or(rest.len());
        let (part, behind) = rest.split_at(length);
        rest = behind;
        let word = part.to_lowercase();
        let at = match part.parse() {
            Ok(number) => (1, number, String::new()),
            Err(_) if EARLY.contains(&word.as_str()) => (0, 0, word),
            Err(_) if LATE.contains(&word.as_str()) => (2, 0, word),
            Err(_) => (1, 0, word),
        };
        if kind(first).1 {
            order.push(at);
        }
    }
    order
}
