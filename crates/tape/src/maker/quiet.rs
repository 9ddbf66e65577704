// SPDX-License-Identifier: GPL-2.0-only
//! Which CPUs are quiet: their idle task runs, and they have handed on their timers. A question that each entry asks about all
//! other CPUs is answered by a count that only changes with the CPUs of which something was seen.

use std::collections::BTreeMap;

use super::cpu::Cpu;
use crate::facts::Facts;

/// How many CPUs are quiet.
#[derive(Default)]
pub(super) struct Quiet {
    count: usize,
    /// CPUs of which something was seen since they were counted.
    touched: Vec<u32>,
    /// Looks at a CPU so far.
    #[cfg(test)]
    looks: u64,
}

impl Quiet {
    pub(super) fn touch(&mut self, cpu: u32) {
        if self.touched.last() != Some(&cpu) {
            self.touched.push(cpu);
        }
    }

    /// Whether all CPUs but `cpu` have handed on their timers: a CPU that keeps its tick has not. Where a CPU's idle task is
    /// hidden, being idle must do.
    pub(super) fn others_idle(&mut self, cpu: u32, cpus: &mut BTreeMap<u32, Cpu>, facts: &Facts) -> bool {
        self.update(cpus, facts);
        let own = cpus.get(&cpu);
        let others = cpus.len() - usize::from(own.is_some());
        self.count - usize::from(own.is_some_and(|c| c.quiet)) == others
    }

    /// Keeps the list of CPUs to be counted shorter than that of all CPUs.
    pub(super) fn count_if_many(&mut self, cpus: &mut BTreeMap<u32, Cpu>, facts: &Facts) {
        if self.touched.len() > cpus.len() {
            self.update(cpus, facts);
        }
    }

    /// Counts the CPUs anew of which something was seen.
    fn update(&mut self, cpus: &mut BTreeMap<u32, Cpu>, facts: &Facts) {
        let hidden =
            |cpu: &u32| !facts.by_switches && facts.cpus.get(cpu).is_none_or(|seen| seen.idle_entries == 0);
        for cpu in std::mem::take(&mut self.touched) {
            #[cfg(test)]
            (self.looks += 1);
            let Some(c) = cpus.get_mut(&cpu) else { continue };
            let is = c.in_visit && (c.stopped || !facts.would_show_stop(cpu) || hidden(&cpu));
            match (c.quiet, is) {
                (false, true) => self.count += 1,
                (true, false) => self.count -= 1,
                _ => {}
            }
            c.quiet = is;
        }
    }

    /// Nothing is known any more of any CPU's visit.
    pub(super) fn forget_all(&mut self, cpus: &mut BTreeMap<u32, Cpu>) {
        cpus.values_mut().for_each(Cpu::forget);
        cpus.values_mut().for_each(|c| c.quiet = false);
        self.count = 0;
        self.touched.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use idlewise_trace::TraceFile;

    use super::*;
    use crate::maker::Maker;
    use crate::survey::Survey;

    /// All CPUs sleep at once, again and again, and tell when they stop their ticks.
    fn all_idle(cpus: u32) -> (u64, u64) {
        let mut text = "# tracer: nop\n#\n".to_owned();
        let mut at_us = 1_000_000_000_u64;
        let mut line = |cpu: u32, what: &str| {
            at_us += 1;
            let (s, us) = (at_us / 1_000_000, at_us % 1_000_000);
            writeln!(text, "          <idle>-0     [{cpu:03}] d..1. {s}.{us:06}: {what}").unwrap();
        };
        for _ in 0..4 {
            for cpu in 0..cpus {
                line(cpu, "tick_stop: success=1 dependency=NONE");
                line(cpu, &format!("cpu_idle: state=1 cpu_id={cpu}"));
            }
            (0..cpus).for_each(|cpu| line(cpu, &format!("cpu_idle: state=4294967295 cpu_id={cpu}")));
        }
        let trace = TraceFile::from_bytes(Path::new("many.txt"), text.into_bytes()).unwrap();
        let machine = idlewise_platform::find("kvm-guest").unwrap();
        let mut events = trace.events().unwrap();
        let mut survey = Survey::new(trace.meta());
        while let Some(event) = events.next() {
            survey.event(&event, &events);
        }
        let facts = survey.finish(&machine);
        let mut maker = Maker::new(&facts, &machine, crate::Limits::default());
        let mut entries = 0;
        for event in trace.events().unwrap() {
            maker.event(&event);
            entries += 1;
            let slowly = |cpu: u32| {
                let told = |cpu: &u32| facts.would_show_stop(*cpu);
                let quiet = |(n, c): (&u32, &Cpu)| *n == cpu || c.in_visit && (c.stopped || !told(n));
                maker.cpus.iter().all(quiet)
            };
            if cpus < 100 {
                let wanted: Vec<bool> = (0..cpus).map(slowly).collect();
                assert_eq!(
                    (0..cpus)
                        .map(|cpu| maker.quiet.others_idle(cpu, &mut maker.cpus, &facts))
                        .collect::<Vec<_>>(),
                    wanted
                );
            }
        }
        (entries, maker.quiet.looks)
    }

    #[test]
    fn the_count_is_what_a_look_at_all_cpus_gives() {
        all_idle(5);
        all_idle(1);
    }

    #[test]
    fn twice_the_cpus_are_twice_the_work() {
        for cpus in [500, 1000, 2000] {
            let (events, looks) = all_idle(cpus);
            assert_eq!(events, 12 * u64::from(cpus));
            assert!(looks <= 2 * events, "{looks} looks at CPUs for {events} events of {cpus} CPUs");
        }
    }
}
