// SPDX-License-Identifier: GPL-2.0-only
use std::collections::BTreeMap;

/// What a tool measured of idle states, time after time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IdleLog {
    /// `turbostat`, `cpupower monitor` or `powertop`.
    pub tool: &'static str,
    /// In the order of the text.
    pub intervals: Vec<LoggedInterval>,
    /// Lines that are about something else.
    pub foreign_lines: usize,
    /// Rows of CPUs that do not fit the columns; they are left out.
    pub damaged_rows: usize,
    /// The text ends within an interval, which is left out.
    pub cut_off: bool,
    /// The text does not have all CPUs; what the tool printed of all together is left out.
    pub some_cpus: bool,
    /// It does not show all idle states: their shares of time are known, and those among the idle states are not.
    pub partial: bool,
}

/// What a tool measured in a time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoggedInterval {
    /// The machine, where a prompt or the like names it; else empty.
    pub host: String,
    /// How long it was, s, where the text shows it.
    pub seconds: Option<f64>,
    /// By CPU; `None` for what the tool printed of all together.
    pub cpus: BTreeMap<Option<u32>, Vec<LoggedState>>,
    /// What else it measured of the whole machine: its column and its value.
    pub others: Vec<(String, f64)>,
}

/// One idle state as a tool shows it. It has a name and no number: tools leave states out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoggedState {
    pub name: String,
    /// Entries in the interval; nothing where the tool shows none.
    pub usage: Option<u64>,
    /// Time in it, % of all time.
    pub time_pct: Option<f64>,
    /// Entries that were too deep.
    pub above: Option<u64>,
    /// Entries that were too shallow.
    pub below: Option<u64>,
}

impl LoggedState {
    pub(crate) fn named(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }
}

/// More intervals than a person compares, and more CPUs than any kernel has: beyond, the text is no such log.
const INTERVALS_MAX: usize = 1 << 16;
const CPUS_MAX: u32 = 65_536;

impl IdleLog {
    pub(crate) fn new(tool: &'static str) -> Self {
        Self { tool, ..Self::default() }
    }

    /// Itself, if it shows any state.
    pub(crate) fn some(mut self) -> Option<Self> {
        self.intervals.retain(|i| i.cpus.values().any(|states| !states.is_empty()));
        (!self.intervals.is_empty() && self.intervals.len() <= INTERVALS_MAX).then_some(self)
    }

    /// The lengths that lines next to the tables show, one for each, s.
    pub(crate) fn timed(&mut self, seconds: &[f64]) {
        if seconds.len() == self.intervals.len() {
            for (interval, seconds) in self.intervals.iter_mut().zip(seconds) {
                interval.seconds = interval.seconds.or(Some(*seconds));
            }
        }
    }

    /// Begins an interval, on the machine with this name.
    pub(crate) fn begin(&mut self, host: &str) {
        self.intervals.push(LoggedInterval { host: host.to_owned(), ..LoggedInterval::default() });
    }

    /// The machines that the text names, each once, in its order.
    #[must_use]
    pub fn hosts(&self) -> Vec<&str> {
        let mut hosts: Vec<&str> = Vec::new();
        for interval in self.intervals.iter().filter(|i| !i.host.is_empty()) {
            if !hosts.contains(&interval.host.as_str()) {
                hosts.push(&interval.host);
            }
        }
        hosts
    }

    /// Leaves out what the tool printed of all CPUs together where it counts more than the CPUs that are there: somebody
    /// has cut the text.
    pub(crate) fn leave_out_all_of_more(&mut self) {
        let usage =
            |states: &Vec<LoggedState>| states.iter().try_fold(0, |sum: u64, s| sum.checked_add(s.usage?));
        let is_of_more = |interval: &LoggedInterval| {
            let shown =
                interval.cpus.iter().filter(|(cpu, _)| cpu.is_some()).map(|(_, states)| usage(states));
            let all = interval.cpus.get(&None).and_then(usage);
            interval.cpus.len() > 1
                && all.zip(shown.sum::<Option<u64>>()).is_some_and(|(all, shown)| all > shown)
        };
        // A CPU that is there at times only may have been off.
        self.some_cpus = !self.intervals.is_empty() && self.intervals.iter().all(is_of_more);
        if self.some_cpus {
            self.intervals.iter_mut().for_each(|i| drop(i.cpus.remove(&None)));
        }
    }

    /// Leaves out the last of several intervals where it lacks CPUs that the one before has, and has no others: the tool was ended
    /// while it wrote it.
    pub(crate) fn leave_out_the_end(&mut self) {
        if let [.., before, last] = self.intervals.as_slice()
            && before.cpus.len() > last.cpus.len()
            && last.cpus.keys().all(|cpu| before.cpus.contains_key(cpu))
        {
            self.intervals.pop();
            self.cut_off = true;
        }
    }

    /// CPUs that are in some intervals only, with how many these are.
    #[must_use]
    pub fn unsteady(&self) -> BTreeMap<u32, usize> {
        let mut times: BTreeMap<u32, usize> = BTreeMap::new();
        for cpu in self.intervals.iter().flat_map(|i| i.cpus.keys().flatten()) {
            *times.entry(*cpu).or_default() += 1;
        }
        times.retain(|_, n| *n < self.intervals.len());
        times
    }

    /// All intervals as one: counts together, shares of time on the mean. How long it was is known where it is of each.
    #[must_use]
    pub fn whole(&self) -> LoggedInterval {
        let count = self.intervals.len().max(1) as f64;
        let mut out = LoggedInterval {
            seconds: self.intervals.iter().map(|i| i.seconds).sum(),
            ..self.intervals.first().cloned().unwrap_or_default()
        };
        for interval in self.intervals.iter().skip(1) {
            // A CPU that is not in all of them would count less.
            out.cpus.retain(|cpu, _| interval.cpus.contains_key(cpu));
            for (cpu, states) in &mut out.cpus {
                let others = interval.cpus.get(cpu).map_or(&[][..], Vec::as_slice);
                for state in states {
                    let other = others.iter().find(|o| o.name == state.name);
                    state.add(other.unwrap_or(&LoggedState::default()));
                }
            }
            out.others.retain(|(name, _)| interval.others.iter().any(|(n, _)| n == name));
            for (name, value) in &mut out.others {
                *value += interval.others.iter().find(|(n, _)| n == name).map_or(0.0, |(_, v)| *v);
            }
        }
        let states = out.cpus.values_mut().flatten();
        states.for_each(|s| s.time_pct = s.time_pct.map(|pct| pct / count));
        out.others.iter_mut().for_each(|(_, value)| *value /= count);
        out
    }
}

impl LoggedInterval {
    /// Adds a CPU's row.
    pub(crate) fn add(&mut self, cpu: Option<u32>, states: Vec<LoggedState>) {
        if cpu.is_none_or(|c| c < CPUS_MAX) {
            self.cpus.insert(cpu, states);
        }
    }

    /// All CPUs together: what the tool printed of them, else counts together and shares of time on the mean.
    #[must_use]
    pub fn all(&self) -> Vec<LoggedState> {
        if let Some(states) = self.cpus.get(&None) {
            return states.clone();
        }
        let mut rows = self.cpus.values();
        let mut out = rows.next().cloned().unwrap_or_default();
        for states in rows {
            for state in &mut out {
                let other = states.iter().find(|o| o.name == state.name);
                state.add(other.unwrap_or(&LoggedState::default()));
            }
        }
        let count = self.cpus.len().max(1) as f64;
        out.iter_mut().for_each(|s| s.time_pct = s.time_pct.map(|pct| pct / count));
        out
    }
}

impl LoggedState {
    /// Adds counts and shares; what one of both does not know is not known.
    fn add(&mut self, other: &Self) {
        let both = |a: Option<u64>, b: Option<u64>| a?.checked_add(b?);
        self.usage = both(self.usage, other.usage);
        self.above = both(self.above, other.above);
        self.below = both(self.below, other.below);
        self.time_pct = self.time_pct.zip(other.time_pct).map(|(a, b)| a + b);
    }
}

/// A number with a point or a comma.
pub(crate) fn decimal(cell: &str) -> Option<f64> {
    cell.replace(',', ".").parse().ok().filter(|n: &f64| n.is_finite())
}

/// A share of time, with a point or a comma and `%` behind it or not; a small negative one is one of 0.
pub(crate) fn percent(cell: &str) -> Option<f64> {
    let value = decimal(cell.trim().trim_end_matches('%').trim())?;
    (-1.0..=1000.0).contains(&value).then(|| value.max(0.0))
}
