// SPDX-License-Identifier: GPL-2.0-only
//! Each input of governors: how well it is known, and how it was made.

use idlewise_model::{
    Confidence, CpuTape, Note, NoteId, PieceFlags, PiecesError, TapeCpu, TapeInput, cpu_list, number_of,
};

use super::cpu::Cpu;
use super::visits::SAME_VISIT_NS;
use super::{Maker, place};
use crate::facts::TickShownBy;
use crate::io_waits::IoEvidence;
use crate::standstill::LONG_NS;
use crate::unseen::Expires;

/// Long idle periods of more CPUs are not named one by one.
const MOST_LONG: usize = 3;

impl Maker<'_> {
    /// Remarks about CPUs of whose idle time one idle period is most. Where no CPU has an event for the most of it, the machine may have
    /// stood still; a CPU that is switched off leaves its idle state before, so that only its idle task looks like that.
    pub(super) fn long_idle_periods(&self) -> Vec<Note> {
        let most = |ns: u64, c: &Cpu| ns >= LONG_NS && ns > c.idle_ns / 2;
        let long = self.cpus.iter().filter(|(_, c)| most(c.longest.ns, c));
        let (unclear, clear): (Vec<_>, Vec<_>) =
            long.partition(|(_, c)| self.facts.by_switches || most(c.longest.silence_ns, c));
        let mut notes: Vec<Note> = unclear
            .iter()
            .take(MOST_LONG)
            .map(|(cpu, c)| {
                NoteId::LongIdlePeriod.note(format!(
                    "one idle period of {:.3} s ({}) is {} % of the CPU's idle time: a suspend, a CPU that was \
                     switched off or a paused guest looks the same where no event shows it",
                    c.longest.ns as f64 / 1e9,
                    place(**cpu, c.longest.start_ns),
                    u128::from(c.longest.ns) * 100 / u128::from(c.idle_ns)
                ))
            })
            .collect();
        if let Some((cpu, c)) = clear.iter().max_by_key(|(_, c)| c.longest.ns) {
            notes.push(NoteId::QuietCpus.note(format!(
                "one idle period is most of the idle time of {} {} (the longest: {:.3} s, {}); other CPUs have events \
                 meanwhile, so that the machine was not suspended",
                if clear.len() == 1 { "CPU" } else { "CPUs" },
                cpu_list(&clear.iter().map(|(cpu, _)| **cpu).collect::<Vec<_>>()),
                c.longest.ns as f64 / 1e9,
                place(**cpu, c.longest.start_ns)
            )));
        }
        notes
    }

    /// `programmed` and `wakes` are counts by grade.
    pub(super) fn inputs(
        &self,
        cpus: &[CpuTape],
        programmed: [u64; 4],
        wakes: [u64; 4],
        latency: (Confidence, String),
    ) -> Result<Vec<TapeInput>, PiecesError> {
        let f = self.facts;
        let usable = || cpus.iter().filter(|c| c.usable == TapeCpu::Usable);
        let all = usable().map(|c| c.pieces.len() as u64).sum();
        let graded = |c: Confidence| {
            let mut counts = [0; 4];
            counts[c as usize] = all;
            counts
        };
        let (mut timers, mut grids, mut stops) = ([0; 4], [0; 4], [0; 4]);
        for c in usable() {
            grids[f.grid_known(c.cpu) as usize] += c.pieces.len() as u64;
            let stop = f.stops_known(c.cpu);
            for block in c.pieces.blocks() {
                for p in &*block? {
                    timers[p.timer_confidence() as usize] += 1;
                    let stop = if p.flags.has(PieceFlags::TICK_KNOWN) {
                        stop
                    } else {
                        stop.max(Confidence::Bounded)
                    };
                    stops[stop as usize] += 1;
                }
            }
        }
        let input =
            |name: &str, counts: [u64; 4], how: String| TapeInput { name: name.to_owned(), counts, how };
        let visits = if f.by_switches {
            let how = "switches to and from the idle task; interrupts separate the idle periods in between";
            (Confidence::Bounded, how.to_owned())
        } else if f.switches > 0 {
            (Confidence::Recorded, "switches to and from the idle task".to_owned())
        } else {
            let how = format!(
                "no sched_switch events: idle again within {} us of the last handler counts as the same visit",
                SAME_VISIT_NS / 1000
            );
            (Confidence::Bounded, how)
        };
        let states = if f.by_switches {
            (Confidence::Assumed, "no cpu_idle events: unknown".to_owned())
        } else {
            (Confidence::Recorded, "cpu_idle events".to_owned())
        };
        let tick_stop = match f.tick_shown_by() {
            Some(TickShownBy::TickStop) if f.tick_stops == 0 => {
                "tick_stop events were recorded, and none came"
            }
            Some(TickShownBy::TickStop) => "tick_stop events",
            Some(TickShownBy::TimerBaseIdle) => "timer_base_idle events",
            Some(TickShownBy::Armings) => "for when the tick's timer is armed",
            None => "no tick_stop events: stopped if an idle period spans a tick",
        };
        let util = self.util_words();
        let iowait = match (f.io_waits.evidence, f.switches) {
            (_, 0) => (Confidence::Assumed, "no sched_switch events show when tasks wait: 0"),
            (IoEvidence::BlockedReason, _) => (
                Confidence::Recorded,
                "sched_blocked_reason: tasks that waited for I/O until they were woken",
            ),
            (IoEvidence::SchedStat, _) => {
                (Confidence::Recorded, "sched_stat_iowait: tasks that waited for I/O until they were woken")
            }
            (IoEvidence::Requests, _) => (
                Confidence::Bounded,
                "tasks in uninterruptible sleep while a request of a block device is under way: an upper bound, but \
                 that waits for network file systems are not seen",
            ),
            (IoEvidence::Wakers, _) => (
                Confidence::Bounded,
                "tasks in uninterruptible sleep that an interrupt ends, as it does I/O; waits that a worker thread ends are not seen",
            ),
            (IoEvidence::Nothing, _) => {
                (Confidence::Bounded, "tasks in uninterruptible sleep for any reason: an upper bound")
            }
        };
        Ok(vec![
            input("wake", wakes, self.wake_words()),
            input("sleep length", timers, self.timer_words()),
            input(
                "programmed event",
                if f.hrtimers() { programmed } else { timers },
                self.programmed_words(),
            ),
            input("visits", graded(visits.0), visits.1),
            input("kernel's states", graded(states.0), states.1),
            input("tick grid", grids, f.grid_how.clone()),
            input("tick stopped", stops, tick_stop.to_owned()),
            input("utilisation", graded(util.0), util.1),
            input("iowait", graded(iowait.0), iowait.1.to_owned()),
            input("latency limit", graded(latency.0), latency.1),
            input("disabled states", graded(Confidence::Assumed), "the platform's defaults".into()),
        ])
    }

    pub(super) fn wake_words(&self) -> String {
        let timers = if self.facts.hrtimers() { "timer expiries, else " } else { "" };
        let else_by = if self.facts.by_switches {
            "the first interrupt or the switch away: not later than that"
        } else {
            "the exit minus the state's exit latency, at most half of the idle period"
        };
        format!("{timers}{else_by}")
    }

    fn util_words(&self) -> (Confidence, String) {
        let f = self.facts;
        if f.pelts > 0 {
            return (Confidence::Recorded, "pelt events, aged by PELT (32 ms) in between".to_owned());
        }
        let clock = if f.frequencies > 0 {
            "cpu_frequency and capacity"
        } else {
            "capacity, no cpu_frequency events"
        };
        if f.switches == 0 {
            return (
                Confidence::Bounded,
                format!("no sched_switch events: PELT (32 ms) of the time not idle; {clock}"),
            );
        }
        let moves = if f.migrations > 0 { "sched_migrate_task" } else { "seen when they run on another CPU" };
        let how = format!(
            "PELT (32 ms) of fair and real-time tasks; speed: {clock}; tasks take their share with them \
             when they migrate ({moves}); interrupts count as their task; what ran before the recording counts for 370 ms, and when PELT's \
             periods of 1 ms begin is not known: up to 22 of 1024"
        );
        (Confidence::Bounded, how)
    }

    pub(super) fn timer_words(&self) -> String {
        let f = self.facts;
        if !f.hrtimers() {
            return "no hrtimer events: the timer that woke the CPU, else the next one seen, else none"
                .to_owned();
        }
        let wheel = match (f.wheel_timers > 0, f.timer_migration) {
            (true, true) => "timer events, migration between CPUs guessed from who is idle",
            (true, false) => "timer events",
            (false, _) if f.wheel_known() <= Confidence::Derived => "timer events, and none came",
            (false, _) => "not recorded: taken as empty while the tick runs",
        };
        let rcu = if f.softirqs > 0 { "; a tick kept for RCU by the softirq that it asked for" } else { "" };
        format!("hrtimer events; timer wheel: the stopped tick's own timer, else {wheel}{rcu}")
    }

    fn programmed_words(&self) -> String {
        if !self.facts.hrtimers() {
            return "no hrtimer events: as the sleep length, or the tick while it runs".to_owned();
        }
        let unseen = self.facts.unseen.iter().filter(|u| matches!(u.expires, Expires::By(_))).count();
        let limit = if unseen == 0 {
            String::new()
        } else {
            let timers = number_of(unseen as u64, "timer");
            let they = if unseen == 1 { "it" } else { "they" };
            format!("; {timers} whose arming is not recorded: due when {they} fired, at the latest")
        };
        format!("hrtimer events, the tick's own timer among them{limit}")
    }

    pub(super) fn notes(&self, longest: Vec<Note>) -> Vec<Note> {
        let mut notes = self.facts.offsets.notes();
        notes.extend(longest);
        notes.extend(self.facts.span.note());
        notes.extend(self.facts.kernel.note());
        if self.facts.by_switches {
            notes.push(NoteId::NoIdleEvents.note(
                "no cpu_idle events: idle is the time of the idle task, and an interrupt ends an idle \
                 period; the states that the kernel chose, and their exit times, are not known",
            ));
        }
        if self.facts.misses > 0 {
            notes.push(NoteId::RejectedByCount.note(
                "rejected entries are recognised by the missing cpu_idle_miss: an idle period of 100 us at \
                 most below the target residency that the kernel did not count was refused by the driver",
            ));
        }
        let (periods, ns) = self.ungoverned;
        if periods > 0 {
            notes.push(NoteId::NoGovernor.note(format!(
                "{}, {:.3} s together, without a governor: the recording has choices \
                 for other idle periods of these CPUs, but not for these. The kernel's default idle routine \
                 ran while no governor was active. They are not counted, and replay asks no governor there",
                number_of(periods, "idle period"),
                ns as f64 / 1e9
            )));
        }
        let (periods, ns) = self.switched;
        if periods > 0 {
            notes.push(NoteId::SwitchedCpus.note(format!(
                "{}, {:.3} s together, in which other CPUs switched theirs off or on: no \
                 governor chooses there, and they are left out",
                number_of(periods, "idle period"),
                ns as f64 / 1e9
            )));
        }
        let (holes, missing_ns) = self.standstill.holes();
        if holes > 0 {
            notes.push(NoteId::MissingLines.note(format!(
                "lines of {:.3} s are missing ({}): no CPU has an event although a timer was due. This time is \
                 left out, with the idle periods that reach into it",
                missing_ns as f64 / 1e9,
                number_of(holes, "place")
            )));
        }
        let (periods, ns) =
            (self.standstill.left_out(), self.standstill.together_ns().saturating_sub(missing_ns));
        if ns > 0 {
            let left_out = match periods {
                0 => String::new(),
                1 => "; one idle period is left out".to_owned(),
                n => format!("; {n} idle periods are left out"),
            };
            notes.push(NoteId::StoodStill.note(format!(
                "{:.3} s in suspend, or a guest paused: no governor chooses there, and no time, power or \
                 utilisation counts it{left_out} (a suspend_resume event lies there, or a timer came more than a \
                 second late)",
                ns as f64 / 1e9
            )));
        }
        if self.replaced > 0 {
            notes.push(NoteId::OtherGovernor.note(format!(
                "{} came before the last governor was enabled: the score of the kernel's own \
                 choices includes those of another governor. The comparison of a replay with the kernel's \
                 choices leaves them out for a trace, and includes them for a tape",
                number_of(self.replaced, "idle period")
            )));
        }
        notes
    }
}
