// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeSet;

use crate::dump_origin::DumpOrigin;
use crate::sysfs::RECORD;
use crate::sysfs_line::{Key, STATES_MAX, SysfsLine, is_text, key, number};
use crate::{DamagedValue, PlatformError, SysfsDump, cpupower};

/// More snapshots than a person compares; each takes some kB of memory.
const SNAPSHOTS_MAX: usize = 1024;

impl SysfsDump {
    /// Reads the output of `grep -r . /sys/devices/system/cpu/cpu*/cpuidle` (`path:value`, quoted in a mail or not), of
    /// `cpupower idle-info`, of `head`/`tail` on several files (`==> path <==`, then the value), of `cat` behind a prompt, or another of the forms
    /// that `sysfs_line.rs` names. Where a path repeats, a new snapshot begins, and so it does under other leading folders:
    /// a file may hold the state before and after a run, or several machines. A value that is no number is left out, and
    /// [`SysfsDump::damaged`] names it. `name` is how errors call the file.
    ///
    /// # Errors
    /// [`PlatformError::Dump`] when no line is about an idle state, or there are more than 1024 snapshots.
    pub fn parse(text: &str, name: &str) -> Result<Vec<Self>, PlatformError> {
        let refused = |what: &str| PlatformError::Dump {
            file: name.to_string(),
            what: what.to_string(),
            hint: RECORD.to_string(),
        };
        if let Some(dumps) = cpupower::idle_info(text, name) {
            return Ok(dumps);
        }
        let mut looks = Snapshots::default();
        let mut header = Header::None;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim_start_matches(['>', ' ', '\t', '|']).trim_end();
            if let Some(path) = line.strip_prefix("==> ").and_then(|l| l.strip_suffix(" <==")) {
                header = Header::Named(path);
                continue;
            }
            let place = || format!("{name}:{}", number + 1);
            let expected = std::mem::take(&mut header);
            if let Header::Named(path) = expected {
                let Some(named) = SysfsLine::parse(path) else {
                    looks.foreign(line);
                    continue;
                };
                looks.take(&named, line, place);
                continue;
            }
            match SysfsLine::parse(line) {
                Some(SysfsLine { value: Some(value), before, path }) => {
                    let named = SysfsLine { before, path, value: None };
                    looks.take(&named, value, place);
                }
                // What is written to a file is not what it holds.
                Some(named) if !named.before.contains('>') => {
                    looks.hear(line);
                    header = Header::Bare(named, 0);
                }
                Some(_) => looks.foreign(line),
                None => header = looks.plain(line, expected, place),
            }
            if looks.all.len() > SNAPSHOTS_MAX {
                return Err(refused(
                    "more than 1024 snapshots; put those to compare into a file of their own",
                ));
            }
        }
        let looks = looks.finish();
        if looks.is_empty() {
            return Err(refused(if text.trim().is_empty() {
                "the file is empty"
            } else {
                "no line is about an idle state (expected lines such as .../cpu0/cpuidle/state1/latency:10)"
            }));
        }
        Ok(looks)
    }
}

/// A line that names the file of the next one's value.
#[derive(Default)]
enum Header<'a> {
    #[default]
    None,
    /// `==> path <==`: the next line is the value, whatever it is.
    Named(&'a str),
    /// A path alone, as behind `cat`: the next line may be the value. For `state*`, of the state with this number.
    Bare(SysfsLine<'a>, usize),
}

/// Snapshots in the making.
#[derive(Default)]
struct Snapshots<'a> {
    all: Vec<Snapshot<'a>>,
    /// The snapshot that the last line was of.
    current: usize,
    /// What lines without values show: the machine, from there on.
    around: DumpOrigin,
    /// Lines about something else before the first snapshot.
    before: usize,
}

struct Snapshot<'a> {
    dump: SysfsDump,
    /// The values that it has.
    seen: BTreeSet<ValueOf<'a>>,
}

/// Of which CPU and state, and of which of its files, a value is; a state's number is nothing where it is of none.
type ValueOf<'a> = (Option<u32>, Option<usize>, &'a str);

/// `each` is the number of the state in place of a shell's pattern.
fn value_of(path: &str, each: usize) -> ValueOf<'_> {
    match key(path) {
        Key::State { cpu, state, file } => (cpu, Some(state), file),
        Key::EachState { cpu, file } => (cpu, Some(each), file),
        Key::Capacity(cpu) | Key::At(cpu) => (Some(cpu), None, path),
        _ => (None, None, path),
    }
}

impl<'a> Snapshots<'a> {
    /// Takes the value of a line.
    fn take(&mut self, line: &SysfsLine<'a>, value: &str, place: impl Fn() -> String) {
        let dump = self.of(line, value_of(line.path, 0));
        if let Err(what) = dump.take(line.path, value) {
            dump.damaged.push(DamagedValue { place: place(), what });
        }
    }

    /// The snapshot that a line is of: a new one where `value` is there already.
    fn of(&mut self, line: &SysfsLine<'a>, value: ValueOf<'a>) -> &mut SysfsDump {
        let folders = DumpOrigin::before_path(line.before);
        let around = &self.around;
        let origin = DumpOrigin {
            host: if folders.host.is_empty() { around.host.clone() } else { folders.host },
            time: folders.time,
            release: around.release.clone(),
        };
        let last = self.all.iter().rposition(|s| s.dump.origin == origin);
        let known = last.filter(|i| self.all.get(*i).is_some_and(|s| !s.seen.contains(&value)));
        self.current = known.unwrap_or_else(|| {
            self.all
                .push(Snapshot { dump: SysfsDump { origin, ..SysfsDump::default() }, seen: BTreeSet::new() });
            self.all.len() - 1
        });
        let look = &mut self.all[self.current];
        look.seen.insert(value);
        &mut look.dump
    }

    /// A line that names no file: the value of the file that was named before, or something else.
    fn plain(&mut self, line: &'a str, expected: Header<'a>, place: impl Fn() -> String) -> Header<'a> {
        let Header::Bare(named, state) = expected else {
            self.hear(line);
            self.foreign(line);
            return Header::None;
        };
        let value = value_of(named.path, state);
        let (cpu, Some(at), file) = value else {
            self.take(&named, line, place);
            return Header::None;
        };
        if line.is_empty() || at >= STATES_MAX || !is_text(file) && number(line).is_none() {
            self.hear(line);
            self.foreign(line);
            return Header::None;
        }
        let dump = self.of(&named, value);
        let each = dump.cpus.entry(cpu).or_default().entry(at).or_default();
        if let Err(what) = each.take(file, line) {
            dump.damaged.push(DamagedValue { place: place(), what });
        }
        match key(named.path) {
            Key::EachState { .. } => Header::Bare(named, state + 1),
            _ => Header::None,
        }
    }

    /// What a line without a value shows of the machine.
    fn hear(&mut self, line: &str) {
        if let Some(origin) = DumpOrigin::of_line(line) {
            // `uname` and a prompt of one machine stand next to each other.
            let same = [&origin.host, &self.around.host].iter().any(|h| h.is_empty())
                || origin.host == self.around.host;
            let release = origin.release.clone().or_else(|| self.around.release.take().filter(|_| same));
            self.around = DumpOrigin { release, ..origin };
        }
    }

    /// Counts a line that says nothing of idle states.
    fn foreign(&mut self, line: &str) {
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        match self.all.get_mut(self.current) {
            Some(look) => look.dump.skipped_lines += 1,
            None => self.before += 1,
        }
    }

    /// Those that show idle states. A line such as `current_driver` between them, or before, is of the one it stands next to.
    fn finish(self) -> Vec<SysfsDump> {
        let mut out: Vec<SysfsDump> =
            self.all.into_iter().map(|s| s.dump).filter(|d| !d.cpus.is_empty()).collect();
        if let Some(first) = out.first_mut() {
            first.skipped_lines += self.before;
        }
        out
    }
}
