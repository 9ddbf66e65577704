// SPDX-License-Identifier: GPL-2.0-only
use std::collections::{BTreeMap, BTreeSet};

use crate::dump_origin::{Around, DumpOrigin, order_of};
use crate::pasted::{comparison, is_complaint, plain};
use crate::sysfs::RECORD;
use crate::sysfs_line::{Key, STATES_MAX, SysfsLine, is_text, key, number};
use crate::{DamagedValue, PlatformError, SysfsDump, SysfsState, cpupower};

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
        let text = &*plain(text);
        if let Some(program) = comparison(text) {
            return Err(PlatformError::Dump {
                file: name.to_string(),
                what: format!("what `{program}` prints of two dumps, which lacks or mixes values of both"),
                hint: "give the two dumps themselves".to_string(),
            });
        }
        let of_cpupower = cpupower::idle_info(text, name);
        let of_paths = Self::of_paths(text, name);
        match (of_cpupower, of_paths) {
            (Some(one), Ok(other)) => Ok(richer((one, "cpupower idle-info"), (other, "the files of sysfs"))),
            (Some(dumps), Err(_)) => Ok(dumps),
            (None, of_paths) => of_paths,
        }
    }

    /// Reads lines that name files of sysfs and their values.
    fn of_paths(text: &str, name: &str) -> Result<Vec<Self>, PlatformError> {
        let refused = |what: &str| PlatformError::Dump {
            file: name.to_string(),
            what: what.to_string(),
            hint: RECORD.to_string(),
        };
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
                Some(named) if is_complaint(named.before) => looks.foreign(line),
                Some(SysfsLine { value: Some(value), before, path }) => {
                    let named = SysfsLine { before, path, value: None };
                    looks.take(&named, value, place);
                }
                // What is written to a file is not what it holds.
                Some(named) if !named.before.contains('>') => {
                    looks.around.hear(line);
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
        let looks = looks.finish(!text.ends_with('\n'));
        if looks.is_empty() {
            return Err(refused(if text.trim().is_empty() {
                "the file is empty"
            } else {
                "no line is about an idle state (expected lines such as .../cpu0/cpuidle/state1/latency:10, or cpupower idle-info)"
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
    around: Around<'a>,
    /// The CPU and the state that the last value was of.
    last: Option<(Option<u32>, usize)>,
    /// Lines about something else before the first snapshot.
    before: usize,
}

struct Snapshot<'a> {
    dump: SysfsDump,
    /// The values that it has.
    seen: BTreeSet<ValueOf<'a>>,
    /// The last file of each state, in the order of the text.
    last_files: BTreeMap<(Option<u32>, usize), &'a str>,
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
        self.around.interrupt();
        let mut origin = self.around.origin.clone();
        if !folders.host.is_empty() {
            origin.learn(DumpOrigin { host: folders.host, ..DumpOrigin::default() });
        }
        if !folders.time.is_empty() {
            origin.time = folders.time;
        }
        let last = self.all.iter().rposition(|s| s.dump.origin.goes_on(&origin));
        let known = last.filter(|i| self.all.get(*i).is_some_and(|s| !s.seen.contains(&value)));
        self.current = known.unwrap_or_else(|| {
            let dump = SysfsDump { origin: origin.clone(), ..SysfsDump::default() };
            self.all.push(Snapshot { dump, seen: BTreeSet::new(), last_files: BTreeMap::new() });
            self.all.len() - 1
        });
        let look = &mut self.all[self.current];
        look.seen.insert(value);
        if let (cpu, Some(state), file) = value {
            self.last = Some((cpu, state));
            look.last_files.insert((cpu, state), file);
        }
        &mut look.dump
    }

    /// A line that names no file: the value of the file that was named before, or something else.
    fn plain(&mut self, line: &'a str, expected: Header<'a>, place: impl Fn() -> String) -> Header<'a> {
        let Header::Bare(named, state) = expected else {
            self.around.hear(line);
            self.foreign(line);
            return Header::None;
        };
        let value = value_of(named.path, state);
        let (cpu, Some(at), file) = value else {
            self.take(&named, line, place);
            return Header::None;
        };
        if line.is_empty() || at >= STATES_MAX || !is_text(file) && number(line).is_none() {
            self.around.hear(line);
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
    fn finish(mut self, open: bool) -> Vec<SysfsDump> {
        if let (Some(look), Some(last)) = (self.all.get_mut(self.current), self.last) {
            look.end(last, open);
        }
        let mut out: Vec<SysfsDump> =
            self.all.into_iter().map(|s| s.dump).filter(|d| !d.cpus.is_empty()).collect();
        // What is behind the only one is about it, too.
        if let [only] = out.as_mut_slice() {
            only.origin.learn_more(self.around.origin);
        }
        in_order(&mut out);
        if let Some(first) = out.first_mut() {
            first.skipped_lines += self.before;
        }
        out
    }
}

impl Snapshot<'_> {
    /// Whether the text ends early: its last state has fewer files than each of the others and does not end as they do, or, where its last line has no
    /// end, its last CPU fewer states than each of the others. The folder `s2idle` is not in every state.
    fn end(&mut self, (cpu, state): (Option<u32>, usize), open: bool) {
        let mut files: BTreeMap<(Option<u32>, usize), usize> = BTreeMap::new();
        for (cpu, state, file) in &self.seen {
            if let Some(state) = state {
                *files.entry((*cpu, *state)).or_default() += usize::from(!file.starts_with("s2idle"));
            }
        }
        let own = files.remove(&(cpu, state));
        let end = self.last_files.remove(&(cpu, state));
        let ends_as_others = self.last_files.values().all(|file| Some(*file) == end);
        let fewer_files = files.len() > 1 && files.values().all(|n| own < Some(*n)) && !ends_as_others;
        let mut others =
            self.dump.cpus.iter().filter(|(c, _)| **c != cpu).map(|(_, states)| states.len()).peekable();
        let own = self.dump.cpus.get(&cpu).map(BTreeMap::len);
        let fewer_states = open && others.peek().is_some() && others.all(|n| own < Some(n));
        self.dump.cut = cpu.filter(|_| fewer_files || fewer_states);
        self.dump.open_end = cpu.filter(|_| open);
    }
}

/// Puts the snapshots of each machine into the order of their names, where all have one: a shell sorts `iter-10` before
/// `iter-2`, and `after` before `before`.
fn in_order(dumps: &mut [SysfsDump]) {
    if dumps.iter().all(|d| !d.origin.time.is_empty()) {
        let hosts: Vec<String> = dumps.iter().map(|d| d.origin.host.clone()).collect();
        let first = |d: &SysfsDump| hosts.iter().position(|host| *host == d.origin.host);
        dumps.sort_by_cached_key(|d| (first(d), order_of(&d.origin.time)));
    }
}

/// Of what one text has in two forms, that with more values; the other is named.
fn richer(one: (Vec<SysfsDump>, &'static str), other: (Vec<SysfsDump>, &'static str)) -> Vec<SysfsDump> {
    let values = |dumps: &[SysfsDump]| -> usize {
        let states = dumps.iter().flat_map(|d| d.cpus.values()).flat_map(|states| states.values());
        states.map(SysfsState::numbers).sum()
    };
    let (mut taken, left_out) =
        if values(&other.0) >= values(&one.0) { (other.0, one.1) } else { (one.0, other.1) };
    if let Some(first) = taken.first_mut() {
        first.left_out = Some(left_out);
    }
    taken
}
