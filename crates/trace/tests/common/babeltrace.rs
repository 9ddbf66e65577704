// SPDX-License-Identifier: GPL-2.0-only
//! The output of `babeltrace2 --clock-cycles --names=all`, line by line, with the kernel's names.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::process::Command;

use idlewise_madetraces::ctf::{Files, store};
use idlewise_trace::TraceFile;

use super::output::Output;
use super::report::{Line, assert_same, next_recorded};

/// Whether the reference reader is installed.
pub fn has_babeltrace() -> bool {
    Command::new("babeltrace2").arg("--version").output().is_ok()
}

/// LTTng's name of a field and the kernel's.
const FIELDS: [(&str, &str); 3] = [("tid", "pid"), ("prev_tid", "prev_pid"), ("next_tid", "next_pid")];

/// The running reference reader. A line's time is in ticks of the clock, without the clock's offset; its task is the one
/// that the context tells, or else the switches on its CPU; -1 where neither does.
pub struct Babeltrace {
    output: Output,
    tasks: Vec<i32>,
}

impl Babeltrace {
    pub fn run(path: &Path) -> Self {
        let mut command = Command::new("babeltrace2");
        command.args(["--clock-cycles", "--no-delta", "--names=all"]).arg(path);
        Self { output: Output::of(&mut command), tasks: vec![-1; 1024] }
    }

    fn line(&mut self, text: &str) -> Option<Line> {
        let parts = pairs(text);
        let part = |key: &str| parts.iter().find(|(k, _)| *k == key).map_or("", |(_, v)| *v);
        let ts_ns = part("timestamp").parse().ok()?;
        let cpu: u32 = number(&pairs(inner(part("stream.packet.context"))), "cpu_id").unwrap_or(0) as u32;
        let full = part("name");
        let fields = pairs(inner(part("event.fields")));
        let lttng = !full.contains(':');
        let mut words = Vec::new();
        for (key, value) in &fields {
            let key = FIELDS.iter().find(|(own, _)| lttng && own == key).map_or(*key, |(_, kernel)| *kernel);
            let value = unquoted(value);
            let real_time = lttng && key.ends_with("_prio");
            let value =
                value.parse::<i64>().ok().filter(|_| real_time).map_or(value, |n| (n + 100).to_string());
            words.push(format!("{key}={value}"));
        }
        let name = kernel_name(full);
        let mut pid = ["stream.event.context", "event.context"].iter().find_map(|context| {
            let pairs = pairs(inner(part(context)));
            number(&pairs, "tid").or_else(|| number(&pairs, "perf_tid"))
        });
        let line = |pid| Line {
            pid,
            cpu,
            ts_ns,
            name: name.to_owned(),
            fields: words.join(" "),
            instance: String::new(),
        };
        let told = |key: &str| line(0).number(key).map(|n| n as i32);
        match name {
            "sched_switch" => {
                pid = told("prev_pid").map(i128::from);
                self.tasks[cpu as usize] = told("next_pid")?;
            }
            "cpu_idle" if told("cpu_id") == Some(cpu as i32) => {
                pid = Some(0);
                self.tasks[cpu as usize] = 0;
            }
            _ => {}
        }
        Some(line(pid.map_or(self.tasks[cpu as usize], |n| n as i32)))
    }
}

impl Iterator for Babeltrace {
    type Item = Line;

    fn next(&mut self) -> Option<Line> {
        loop {
            let text = self.output.line()?;
            if let Some(line) = self.line(text.trim_end()) {
                return Some(line);
            }
        }
    }
}

/// The kernel's name of an event: an own table, so that it can disagree with the reader's.
pub fn kernel_name(name: &str) -> &str {
    if let Some((_, name)) = name.split_once(':') {
        return name;
    }
    for prefix in ["power_", "x86_irq_vectors_"] {
        if let Some(name) = name.strip_prefix(prefix) {
            return name;
        }
    }
    let inner = ["irq_softirq_", "timer_hrtimer_", "timer_itimer_"].iter().any(|p| name.starts_with(p));
    if inner { name.split_once('_').unwrap().1 } else { name }
}

/// What a comparison without a difference was about.
pub struct Same {
    pub events: u64,
    pub names: BTreeMap<String, u64>,
    /// For people.
    pub seen: String,
}

/// Compares a trace with what babeltrace2 prints of it, if that is there.
#[allow(clippy::print_stdout, reason = "tests say what they skip")]
pub fn babeltrace_agrees(files: &Files) {
    if !has_babeltrace() {
        println!("skipped the comparison: no babeltrace2");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    store(dir.path(), files);
    assert!(compare(dir.path()).events > 0);
}

/// Compares every event with babeltrace2's.
pub fn compare(path: &Path) -> Same {
    let file = TraceFile::open(path).unwrap();
    let meta = file.meta();
    // Events of the same time on two CPUs may come in any order, so each CPU is compared for itself.
    let mut theirs: BTreeMap<u32, VecDeque<Line>> = BTreeMap::new();
    for line in Babeltrace::run(path) {
        theirs.entry(line.cpu).or_default().push_back(line);
    }
    let (mut n, mut numbers, mut last) = (0u64, 0u64, 0);
    let mut names = BTreeMap::<String, u64>::new();
    let mut events = file.events().unwrap();
    while let Some(event) = next_recorded(&mut events) {
        assert!(event.ts_ns >= last, "{}: {event:?} after {last}", path.display());
        last = event.ts_ns;
        let line = theirs.get_mut(&event.cpu).and_then(|lines| lines.pop_front());
        let place = format!("{}, event {n}", path.display());
        let line = line.unwrap_or_else(|| panic!("{place}: they have no {event:?}"));
        numbers += u64::from(assert_same(&event, &line, meta, &events, &place));
        *names.entry(line.name).or_default() += 1;
        n += 1;
    }
    assert!(theirs.values().all(|lines| lines.is_empty()), "{}: they have more events", path.display());
    let mut counted = BTreeMap::<String, u64>::new();
    for (id, count) in events.counts() {
        let name = meta.event_names[&id].split_once(':').unwrap().1;
        *counted.entry(name.to_owned()).or_default() += count;
    }
    assert_eq!(counted, names, "{}", path.display());
    assert!(events.health().is_empty(), "{:?}", events.health());
    let again: Vec<_> = file.events().unwrap().collect();
    assert!(again.into_iter().eq(file.events().unwrap()), "a second reading differs");
    let seen = format!(
        "{}: {n} events, {numbers} numbers equal; {} kinds; {} | {} | clock {:?} | {:?} | {:?}",
        path.display(),
        names.len(),
        meta.format,
        meta.kernel,
        meta.clock,
        meta.health,
        meta.notes
    );
    Same { events: n, names, seen }
}

/// `a = 1, b = { c = 2 }, d = "x, y"` as pairs.
fn pairs(text: &str) -> Vec<(&str, &str)> {
    let mut all = Vec::new();
    let (mut depth, mut quoted, mut escaped, mut start) = (0, false, false, 0);
    for (at, c) in text.bytes().enumerate().chain([(text.len(), b',')]) {
        match c {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' => depth -= 1,
            b',' if depth == 0 => {
                if let Some((key, value)) = text[start..at].split_once(" = ") {
                    all.push((key.trim(), value.trim()));
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    all
}

fn inner(text: &str) -> &str {
    text.strip_prefix('{').and_then(|t| t.strip_suffix('}')).unwrap_or("")
}

fn number(pairs: &[(&str, &str)], key: &str) -> Option<i128> {
    pairs.iter().find(|(k, _)| *k == key)?.1.parse().ok()
}

fn unquoted(value: &str) -> String {
    match value.strip_prefix('"').and_then(|v| v.strip_suffix('"')) {
        Some(text) => text.replace("\\\"", "\"").replace("\\\\", "\\"),
        None => value.to_owned(),
    }
}
