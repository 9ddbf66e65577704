// SPDX-License-Identifier: GPL-2.0-only
//! What the events of one kernel mean and those of another do not: docs/reference/kernel-versions.md.

use std::collections::BTreeMap;

use idlewise_model::{Event, EventKind, Note, NoteId};
use idlewise_signal::pelt::Pelt;
use idlewise_trace::TraceMeta;

/// `prev_state` of a task that will not run again, as events report it: `EXIT_DEAD`, `EXIT_ZOMBIE`.
const EXITED: u64 = 0x30;
/// The task's own `TASK_DEAD` before 4.14 and since. Reported states have other meanings there: parked, idle.
const DEAD_BEFORE_4_14: u64 = 0x40;
const DEAD: u64 = 0x80;
/// Of the timers whose expiry was seen, so many must have run too early for a wheel that rounds for it to be one that
/// does not: one in this.
const EARLY_ONE_IN: u64 = 4;

/// What is known of the kernel's version.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kernel {
    /// The first two numbers of its release, where the recording names it.
    version: Option<(u32, u32)>,
    /// States of tasks are recorded as the task has them, not as the kernel's own events report them (LTTng).
    own_states: bool,
    /// Whether the timer wheel rounds expiries up (since 4.8).
    wheel_rounds: bool,
    /// Whether the clock event stays programmed for an hrtimer that is cancelled (since 7.0).
    cancels_lazily: bool,
}

impl Kernel {
    pub(crate) fn new(meta: &TraceMeta) -> Self {
        let version = meta.kernel_version();
        let own_states = meta.recorder.starts_with("lttng");
        let since = |first: (u32, u32)| version.is_some_and(|v| v >= first);
        let wheel_rounds = version.is_none() || since((4, 8));
        Self { version, own_states, wheel_rounds, cancels_lazily: since((7, 0)) }
    }

    /// The recording has so many `hrtimer_rearm` events, which come with lazy cancels.
    pub(crate) fn rearms(&mut self, events: u64) {
        self.cancels_lazily |= events > 0;
    }

    /// Whether the clock event stays programmed for an hrtimer that is cancelled, until it is programmed anew.
    pub(crate) fn cancels_lazily(&self) -> bool {
        self.cancels_lazily
    }

    fn before(&self, version: (u32, u32)) -> bool {
        self.version.is_some_and(|v| v < version)
    }

    /// How it keeps utilisation; the latest way where its version is not known.
    pub(crate) fn pelt(&self) -> Pelt {
        self.version.and_then(|(major, minor)| Pelt::kernel(major, minor).ok()).unwrap_or_default()
    }

    /// Bits of `prev_state`, any of which means that a task will not run again.
    pub(crate) fn dead_states(&self) -> u64 {
        match (self.before((4, 14)), self.own_states) {
            (true, _) => EXITED | DEAD_BEFORE_4_14,
            (false, true) => EXITED | DEAD,
            (false, false) => EXITED,
        }
    }

    /// The jiffy at which the wheel looks at a timer that was armed at jiffy `now`, where no event tells.
    pub(crate) fn bucket(&self, expires: u64, now: u64) -> u64 {
        if self.wheel_rounds { bucket(expires, now) } else { expires }
    }

    /// What a reader of a result should know.
    pub(crate) fn note(&self) -> Option<Note> {
        let (major, minor) = self.version.filter(|_| self.before((4, 17)))?;
        Some(NoteId::TickBeforeGovernor.note(format!(
            "Linux {major}.{minor} stops the tick before it asks its idle governor (since 4.17 the governor \
             decides): the kernel's keep-or-stop is not a governor's choice"
        )))
    }
}

/// Watches the timer wheel of a kernel that does not record where it put a timer.
#[derive(Debug, Default)]
pub(crate) struct Wheel {
    /// Armed timers: when they expire and when they were armed, jiffies.
    armed: BTreeMap<u64, (u64, u64)>,
    early: u64,
    all: u64,
}

impl Wheel {
    pub(crate) fn event(&mut self, e: &Event) {
        match e.kind {
            EventKind::TimerStart { timer, expires, bucket_expiry: None, now, .. } => {
                self.armed.insert(timer, (expires, now));
            }
            EventKind::TimerExpireEntry { timer, now, .. } => {
                if let Some((expires, armed)) = self.armed.remove(&timer) {
                    self.all += 1;
                    self.early += u64::from(now < bucket(expires, armed));
                }
            }
            _ => {}
        }
    }

    /// What the timers show counts, whatever version the kernel is said to be.
    pub(crate) fn tell(&self, kernel: &mut Kernel) {
        if self.all >= EARLY_ONE_IN {
            kernel.wheel_rounds = self.early * EARLY_ONE_IN < self.all;
        }
    }
}

/// The jiffy at which a wheel that rounds looks at a timer: its levels hold 64 slots each, of 1, 8, 64, ... jiffies, and a
/// timer is never early.
fn bucket(expires: u64, now: u64) -> u64 {
    let away = expires.wrapping_sub(now) as i64;
    let level = (1..9).take_while(|level| away >= 63i64 << (3 * (level - 1))).count();
    let slot = 1u64 << (3 * level);
    (expires / slot).saturating_add(1).saturating_mul(slot)
}

#[cfg(test)]
mod tests {
    use idlewise_model::TimerFlags;

    use super::*;

    fn kernel(release: &str, recorder: &str) -> Kernel {
        let mut meta = TraceMeta::default();
        meta.kernel = release.to_owned();
        meta.recorder = recorder.to_owned();
        Kernel::new(&meta)
    }

    #[test]
    fn a_dead_task_is_known_by_the_state_that_its_kernel_has_for_it() {
        assert_eq!(kernel("4.4.0 x86_64", "").dead_states(), 0x70);
        assert_eq!(kernel("4.13.9 i686", "lttng-modules 2.10").dead_states(), 0x70);
        assert_eq!(kernel("4.15.0", "lttng-modules 2.10").dead_states(), 0xb0);
        assert_eq!(kernel("6.18.0", "").dead_states(), 0x30, "0x40 is parked, 0x80 is idle");
        assert_eq!(kernel("", "").dead_states(), 0x30);
    }

    #[test]
    fn before_4_17_nobody_chose_whether_the_tick_stops() {
        assert!(
            kernel("4.15.0-29-generic", "").note().unwrap().starts_with("Linux 4.15 stops the tick before")
        );
        assert_eq!(kernel("4.17.0", "").note(), None);
        assert_eq!(kernel("", "").note(), None);
    }

    /// Timers 10, 20, ... jiffies away run at the jiffy that `at` says.
    fn wheel(at: impl Fn(u64, u64) -> u64, kernel: &mut Kernel) {
        let mut wheel = Wheel::default();
        for k in 1..20 {
            let (now, expires) = (1_000, 1_000 + 10 * k);
            let start = EventKind::TimerStart {
                timer: k,
                function: 1,
                expires,
                bucket_expiry: None,
                now,
                flags: TimerFlags(0),
            };
            let fires = EventKind::TimerExpireEntry { timer: k, function: 1, now: at(expires, now) };
            for kind in [start, fires] {
                wheel.event(&Event { ts_ns: k, cpu: 0, pid: 0, kind });
            }
        }
        wheel.tell(kernel);
    }

    #[test]
    fn the_old_wheel_runs_timers_when_they_expire() {
        for release in ["", "4.4.0", "6.18.0"] {
            let mut kernel = kernel(release, "");
            wheel(|expires, _| expires, &mut kernel);
            assert_eq!(kernel.bucket(1_100, 1_000), 1_100, "{release}");
            wheel(bucket, &mut kernel);
            assert_eq!(kernel.bucket(1_100, 1_000), 1_104, "{release}");
        }
        assert_eq!(kernel("4.4.0", "").bucket(1_100, 1_000), 1_100, "no timer ran, but the version is known");
        assert_eq!(kernel("4.8.0", "").bucket(1_100, 1_000), 1_104);
    }

    /// From `timer_start` events of a 6.18 kernel: expires, timeout, bucket_expiry.
    #[test]
    fn timers_are_rounded_up_as_the_wheel_does() {
        for (expires, timeout, recorded) in WHEEL {
            assert_eq!(bucket(expires, expires - timeout), recorded, "{expires} in {timeout}");
        }
    }

    const WHEEL: [(u64, u64, u64); 10] = [
        (4_296_522_178, 0, 4_296_522_179),
        (4_296_522_239, 50, 4_296_522_240),
        (4_296_521_773, 125, 4_296_521_776),
        (4_295_902_000, 192, 4_295_902_008),
        (4_296_522_500, 500, 4_296_522_504),
        (4_295_818_358, 562, 4_295_818_368),
        (4_295_905_358, 716, 4_295_905_408),
        (4_295_906_052, 2_500, 4_295_906_112),
        (4_296_529_740, 7_500, 4_296_529_920),
        (4_296_537_188, 15_000, 4_296_537_600),
    ];
}
