// SPDX-License-Identifier: GPL-2.0-only
//! CPUs that take turns on one thread of a host, as those of an emulator do that counts instructions (QEMU's `-icount`).
//!
//! They run in rounds, by place. In a round each CPU that is awake runs for the same time: that to the machine's next timer,
//! divided by the number of its CPUs, asleep or not. Where some sleep, time is left over, and a round of shorter turns follows; so
//! the next timer is always met, and who has the lowest place comes first after it. A CPU that falls asleep passes its turn on.
//! So does one that spins through an idle state's latency or polls, every [`SPIN_NS`]; it looks at the clock when it comes next.
//! A timer that is set to come before all others ends the turn, since the time to the next timer is another one then.

use crate::state::Sim;
use crate::state::cpu::Mode;
use crate::state::task::Left;
use crate::state::turns::Share;
use idlewise_parts::queue::QueuedEvent;
use idlewise_parts::timers::NEVER_NS;
use idlewise_parts::watch::Watch;

/// How long a CPU spins before it lets the others go on, ns: sixteen looks at the clock in the boot lab's idle driver.
const SPIN_NS: u64 = 3_300;
/// No turn is shorter, ns. An emulator's get as short as some instructions; that would be nothing but many events.
const SHORTEST_NS: u64 = 1_000;

impl<W: Watch> Sim<'_, W> {
    /// Whether the CPU can do anything now.
    #[inline]
    pub(crate) fn has_thread(&self, c: usize) -> bool {
        self.turns.as_ref().is_none_or(|t| t.holder == Some(c))
    }

    /// [`Sim::until`] where CPUs take turns.
    pub(crate) fn until_in_turns(&mut self, c: usize, end_ns: u64) {
        let left_ns = end_ns.saturating_sub(self.now_ns);
        self.cpus[c].share = Share { ends_ns: end_ns, left_ns, stopped_ns: self.now_ns, leaves: false };
        let holder = self.turns.as_ref().and_then(|t| t.holder);
        match (holder == Some(c), self.wants(c)) {
            (true, true) => self.holds(c),
            (true, false) => {
                self.take_thread();
                self.end_turn_at(self.now_ns);
            }
            (false, true) => match holder {
                Some(h) => self.others_came(h),
                None => self.end_turn_at(self.now_ns),
            },
            (false, false) => {}
        }
    }

    /// Whether the CPU has something to do.
    fn wants(&self, c: usize) -> bool {
        match self.cpus[c].mode {
            Mode::Sleep => self.now_ns < self.entered_at_ns(c),
            Mode::Task { .. } | Mode::Kernel(_) | Mode::Exit | Mode::Poll => true,
        }
    }

    fn others_want(&self, c: usize) -> bool {
        (0..self.cpus.len()).any(|other| other != c && self.wants(other))
    }

    /// It does nothing but look at the clock.
    fn spins(&self, c: usize) -> bool {
        matches!(self.cpus[c].mode, Mode::Sleep | Mode::Exit | Mode::Poll)
    }

    /// When the way into the idle state is over, ns.
    fn entered_at_ns(&self, c: usize) -> u64 {
        let cpu = &self.cpus[c];
        let Some(stay) = cpu.stay else { return 0 };
        if self.machine.measured_exit_ns(c, stay.state).is_some() {
            return stay.start_ns;
        }
        let way_out_ns = cpu.idle.exit_at_ns(stay.state, 0, NEVER_NS).saturating_sub(NEVER_NS);
        cpu.idle.exit_at_ns(stay.state, stay.start_ns, stay.start_ns).saturating_sub(way_out_ns)
    }

    /// The CPU, whose turn it is, goes on with what it does.
    fn holds(&mut self, c: usize) {
        let now_ns = self.now_ns;
        if self.cpus[c].mode == Mode::Exit
            && !self.cpus[c].share.leaves
            && now_ns >= self.entered_at_ns(c)
            && let Some(stay) = self.cpus[c].stay
        {
            self.cpus[c].share.leaves = true;
            self.cpus[c].share.ends_ns = self.exit_at_ns(c, &stay, now_ns);
        }
        let cpu = &self.cpus[c];
        let waits = matches!(cpu.mode, Mode::Sleep) || cpu.mode == Mode::Exit && !cpu.share.leaves;
        if !waits && cpu.share.ends_ns < NEVER_NS {
            let what = QueuedEvent::Segment { cpu: c as u32, turn: cpu.turn };
            self.queue.push(cpu.share.ends_ns.max(now_ns), what);
        }
        let mut end_ns = NEVER_NS;
        if self.others_want(c) {
            end_ns = self.turn_end_ns(c);
        }
        if waits {
            end_ns = end_ns.min(self.entered_at_ns(c));
        }
        self.end_turn_at(end_ns);
    }

    /// When the turn of `c` ends, ns.
    fn turn_end_ns(&self, c: usize) -> u64 {
        let Some(turns) = &self.turns else { return NEVER_NS };
        let end_ns = turns.since_ns + turns.slice_ns;
        let end_ns = if self.spins(c) { end_ns.min(self.now_ns + SPIN_NS) } else { end_ns };
        end_ns.max(self.now_ns)
    }

    /// Another CPU wants a turn, while `c` has it. If it was alone so far, its turns have followed one another.
    fn others_came(&mut self, c: usize) {
        while let Some(turns) = &self.turns
            && turns.since_ns + turns.slice_ns <= self.now_ns
        {
            let since_ns = turns.since_ns + turns.slice_ns;
            let slice_ns = self.slice_ns(since_ns);
            if let Some(turns) = &mut self.turns {
                (turns.since_ns, turns.slice_ns) = (since_ns, slice_ns);
            }
        }
        let announced_ns = self.turns.as_ref().map_or(NEVER_NS, |t| t.end_ns);
        self.end_turn_at(self.turn_end_ns(c).min(announced_ns));
    }

    /// How long turns of a round are that begins then, ns.
    fn slice_ns(&self, at_ns: u64) -> u64 {
        let next_ns = self.cpus.iter().map(|c| c.timer_at_ns).min().unwrap_or(NEVER_NS);
        let ns = next_ns.saturating_sub(at_ns);
        (ns / self.cpus.len() as u64).max(SHORTEST_NS)
    }

    /// The turn ends then, if nothing comes between.
    fn end_turn_at(&mut self, end_ns: u64) {
        let Some(turns) = &mut self.turns else { return };
        if turns.end_ns == end_ns {
            return;
        }
        turns.end_ns = end_ns;
        turns.turn = turns.turn.wrapping_add(1);
        if end_ns < NEVER_NS {
            self.queue.push(end_ns, QueuedEvent::Turn { turn: turns.turn });
        }
    }

    /// Who has the thread has it no longer, and keeps what is left to do.
    fn take_thread(&mut self) {
        let Some(c) = self.turns.as_ref().and_then(|t| t.holder) else { return };
        // It still does what it does.
        self.pause(c);
        let now_ns = self.now_ns;
        let cpu = &mut self.cpus[c];
        cpu.turn = cpu.turn.wrapping_add(1);
        cpu.share.left_ns = cpu.share.ends_ns.saturating_sub(now_ns);
        cpu.share.stopped_ns = now_ns;
        if let Some(turns) = &mut self.turns {
            turns.holder = None;
        }
    }

    /// A timer fires: the emulator looks at its timers between rounds only, and then begins with the first CPU.
    pub(crate) fn timer_in_turns(&mut self) {
        if self.turns.is_none() {
            return;
        }
        self.take_thread();
        if let Some(turns) = &mut self.turns {
            turns.next = usize::MAX;
        }
        self.end_turn_at(self.now_ns);
    }

    /// The timer of `c` was set.
    pub(crate) fn timer_set_in_turns(&mut self, c: usize) {
        let at_ns = self.cpus[c].timer_at_ns;
        let is_first = self.cpus.iter().enumerate().all(|(o, cpu)| o == c || cpu.timer_at_ns > at_ns);
        if !self.has_thread(c) || !is_first {
            return;
        }
        let alone = !self.others_want(c);
        let slice_ns = self.slice_ns(self.now_ns);
        let now_ns = self.now_ns;
        let Some(turns) = &mut self.turns else { return };
        // What it goes on with does not get it another turn.
        (turns.since_ns, turns.slice_ns) = (now_ns, if alone { slice_ns } else { 0 });
        if !alone {
            turns.anew = true;
            self.end_turn_at(now_ns);
        }
    }

    /// A turn is over: the next CPU has one.
    pub(crate) fn next_turn(&mut self, turn: u32) {
        let now_ns = self.now_ns;
        match &mut self.turns {
            Some(turns) if turns.turn == turn => turns.end_ns = NEVER_NS,
            _ => return,
        }
        self.take_thread();
        let next = self.turns.as_ref().map_or(0, |t| t.next);
        let count = self.cpus.len();
        let in_round = (next..count).find(|c| self.wants(*c));
        let found = in_round.or_else(|| (0..count).find(|c| self.wants(*c)));
        let slice_ns = self.slice_ns(now_ns);
        let Some(turns) = &mut self.turns else { return };
        let Some(c) = found else {
            turns.next = usize::MAX;
            return;
        };
        if in_round.is_none() || turns.anew {
            turns.slice_ns = slice_ns;
        }
        turns.anew &= in_round.is_some();
        (turns.holder, turns.next, turns.since_ns) = (Some(c), c + 1, now_ns);
        let share = self.cpus[c].share;
        match self.cpus[c].mode {
            Mode::Task { .. } => {
                // What is to last for some time lasts so long whoever runs.
                if let Some(task) = self.cpus[c].curr
                    && let Left::Time(ns) = &mut self.tasks[task].left
                {
                    *ns = ns.saturating_sub(now_ns - share.stopped_ns);
                }
                self.go_on(c);
            }
            Mode::Poll if !self.cpus[c].pending.is_empty() => self.handle_irqs(c),
            Mode::Kernel(_) => {
                self.cpus[c].share.ends_ns = now_ns + share.left_ns;
                self.holds(c);
            }
            Mode::Sleep | Mode::Exit | Mode::Poll => self.holds(c),
        }
    }
}
