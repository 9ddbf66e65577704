// SPDX-License-Identifier: GPL-2.0-only
//! The calls of `signals/pelt*.c`: each gets pointers to memory of the caller's that it borrows for as long as it lasts.

use std::ffi::c_int;
use std::ptr;

use crate::pelt::{Avg, Clock, Config, HalfLife, Leave, Limits, Need, Place, Rq, Speed, Task};

unsafe extern "C" {
    fn pelt_config_kernel(config: *mut Config, major: u32, minor: u32) -> c_int;
    fn pelt_config_half_life(config: *mut Config, half_life: HalfLife);
    fn pelt_config_check(config: *const Config) -> c_int;
    fn pelt_decay(config: *const Config, sum: u64, periods: u64) -> u64;
    fn pelt_divider(config: *const Config, avg: *const Avg) -> u32;
    fn pelt_update(
        config: *const Config,
        speed: *const Speed,
        avg: *mut Avg,
        now_ns: u64,
        load: u64,
        runnable: u64,
        running: bool,
    ) -> bool;
    fn pelt_publish(config: *const Config, avg: *mut Avg, weight: u64);
    fn pelt_faded(avg: *const Avg) -> bool;
    fn pelt_clock_now(clock: *const Clock) -> u64;

    fn pelt_rq_init(rq: *mut Rq, capacity: u32);
    fn pelt_rq_speed(rq: *mut Rq, capacity: u32, freq: u32);
    fn pelt_rq_pass(config: *const Config, rq: *mut Rq, now_ns: u64, irq_ns: u64, steal_ns: u64);
    fn pelt_rq_age(config: *const Config, rq: *mut Rq) -> bool;
    fn pelt_rq_hw(config: *const Config, rq: *mut Rq, lost: u64) -> bool;
    fn pelt_task_init(task: *mut Task, weight: u32);
    fn pelt_task_start(rq: *const Rq, task: *mut Task);
    fn pelt_enqueue(config: *const Config, rq: *mut Rq, task: *mut Task) -> bool;
    fn pelt_dequeue(config: *const Config, rq: *mut Rq, task: *mut Task, why: Leave) -> bool;
    fn pelt_switch(
        config: *const Config,
        rq: *mut Rq,
        prev: *mut Task,
        next_class: Class,
        next: *mut Task,
    ) -> bool;
    fn pelt_tick(config: *const Config, rq: *mut Rq, curr: *mut Task) -> bool;
    fn pelt_remove(config: *const Config, rq: *mut Rq, task: *mut Task, wall_ns: u64);
    fn pelt_task_sync(config: *const Config, rq: *const Rq, task: *mut Task);

    fn pelt_est(config: *const Config, task: *const Task) -> u32;
    fn pelt_task_util(config: *const Config, task: *const Task) -> u64;
    fn pelt_cpu_util(
        config: *const Config,
        rq: *const Rq,
        task: *const Task,
        is_here: bool,
        goes_here: bool,
        boost: bool,
    ) -> u64;
    fn pelt_dl_bandwidth(running_bw: u64) -> u32;
    fn pelt_need(
        config: *const Config,
        rq: *const Rq,
        fair_util: u64,
        limits: *const Limits,
        need: *mut Need,
    );
    fn pelt_busy(config: *const Config, rq: *const Rq) -> u64;
}

/// `enum pelt_class`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Class {
    Idle,
    Fair,
    RealTime,
    Deadline,
}

// What holds for every call below: references point to whole structures, whose layout a test compares with C's; a mutable
// one is borrowed alone, so that no two point to the same memory; C keeps no pointer, accepts any values in averages,
// queues and tasks, and asks for a configuration that was checked, which `Pelt` holds.

/// The latest kernel that `signal-behaviour.md` describes.
const LATEST: (u32, u32) = (6, 12);

/// Fills it for any version; false if there is none of that version.
fn fill(config: &mut Config, major: u32, minor: u32) -> bool {
    // SAFETY: as above; C fills it with values of the enumerations.
    unsafe { pelt_config_kernel(config, major, minor) == 0 }
}

pub(crate) fn kernel(major: u32, minor: u32) -> Option<Config> {
    let mut config = Config::ZERO;
    fill(&mut config, major, minor).then_some(config)
}

pub(crate) fn latest() -> Config {
    let mut config = Config::ZERO;
    fill(&mut config, LATEST.0, LATEST.1);
    config
}

pub(crate) fn with_half_life(mut config: Config, half_life: HalfLife) -> Config {
    // SAFETY: as above.
    unsafe { pelt_config_half_life(&raw mut config, half_life) };
    config
}

pub(crate) fn valid(config: &Config) -> bool {
    // SAFETY: as above; any numbers may be in it.
    unsafe { pelt_config_check(config) == 0 }
}

pub(crate) fn decay(config: &Config, sum: u64, periods: u64) -> u64 {
    // SAFETY: as above.
    unsafe { pelt_decay(config, sum, periods) }
}

pub(crate) fn divider(config: &Config, avg: &Avg) -> u32 {
    // SAFETY: as above.
    unsafe { pelt_divider(config, avg) }
}

#[inline]
pub(crate) fn update(
    config: &Config,
    speed: &Speed,
    avg: &mut Avg,
    now_ns: u64,
    (load, runnable, running): (u64, u64, bool),
) -> bool {
    // SAFETY: as above.
    unsafe { pelt_update(config, speed, avg, now_ns, load, runnable, running) }
}

#[inline]
pub(crate) fn publish(config: &Config, avg: &mut Avg, weight: u64) {
    // SAFETY: as above.
    unsafe { pelt_publish(config, avg, weight) }
}

pub(crate) fn faded(avg: &Avg) -> bool {
    // SAFETY: as above.
    unsafe { pelt_faded(avg) }
}

pub(crate) fn clock_now(clock: &Clock) -> u64 {
    // SAFETY: as above.
    unsafe { pelt_clock_now(clock) }
}

pub(crate) fn rq(capacity: u32) -> Rq {
    let mut rq = Rq::ZERO;
    // SAFETY: as above.
    unsafe { pelt_rq_init(&raw mut rq, capacity) };
    rq
}

#[inline]
pub(crate) fn set_speed(rq: &mut Rq, speed: Speed) {
    // SAFETY: as above.
    unsafe { pelt_rq_speed(rq, speed.capacity, speed.frequency) }
}

#[inline]
pub(crate) fn pass(config: &Config, rq: &mut Rq, now_ns: u64, irq_ns: u64, steal_ns: u64) {
    // SAFETY: as above.
    unsafe { pelt_rq_pass(config, rq, now_ns, irq_ns, steal_ns) }
}

#[inline]
pub(crate) fn age(config: &Config, rq: &mut Rq) -> bool {
    // SAFETY: as above.
    unsafe { pelt_rq_age(config, rq) }
}

#[inline]
pub(crate) fn hardware(config: &Config, rq: &mut Rq, lost: u64) -> bool {
    // SAFETY: as above.
    unsafe { pelt_rq_hw(config, rq, lost) }
}

pub(crate) fn task(weight: u32) -> Task {
    let mut task = Task::ZERO;
    // SAFETY: as above.
    unsafe { pelt_task_init(&raw mut task, weight) };
    task
}

pub(crate) fn start(rq: &Rq, task: &mut Task) {
    // SAFETY: as above.
    unsafe { pelt_task_start(rq, task) }
}

#[inline]
pub(crate) fn enqueue(config: &Config, rq: &mut Rq, task: &mut Task) -> bool {
    // SAFETY: as above.
    unsafe { pelt_enqueue(config, rq, task) }
}

#[inline]
pub(crate) fn dequeue(config: &Config, rq: &mut Rq, task: &mut Task, why: Leave) -> bool {
    // SAFETY: as above.
    unsafe { pelt_dequeue(config, rq, task, why) }
}

fn pointer(task: Option<&mut Task>) -> *mut Task {
    task.map_or(ptr::null_mut(), ptr::from_mut)
}

#[inline]
pub(crate) fn switch(
    config: &Config,
    rq: &mut Rq,
    prev: Option<&mut Task>,
    class: Class,
    next: Option<&mut Task>,
) -> bool {
    // SAFETY: as above; each of the tasks may be absent.
    unsafe { pelt_switch(config, rq, pointer(prev), class, pointer(next)) }
}

#[inline]
pub(crate) fn tick(config: &Config, rq: &mut Rq, curr: Option<&mut Task>) -> bool {
    // SAFETY: as above; the task may be absent.
    unsafe { pelt_tick(config, rq, pointer(curr)) }
}

#[inline]
pub(crate) fn remove(config: &Config, rq: &mut Rq, task: &mut Task, wall_ns: u64) {
    // SAFETY: as above.
    unsafe { pelt_remove(config, rq, task, wall_ns) }
}

pub(crate) fn sync(config: &Config, rq: &Rq, task: &mut Task) {
    // SAFETY: as above.
    unsafe { pelt_task_sync(config, rq, task) }
}

pub(crate) fn estimate(config: &Config, task: &Task) -> u32 {
    // SAFETY: as above.
    unsafe { pelt_est(config, task) }
}

pub(crate) fn task_util(config: &Config, task: &Task) -> u64 {
    // SAFETY: as above.
    unsafe { pelt_task_util(config, task) }
}

#[inline]
pub(crate) fn cpu_util(config: &Config, rq: &Rq, moved: Option<(&Task, Place)>, boost: bool) -> u64 {
    let task = moved.map_or(ptr::null(), |(task, _)| ptr::from_ref(task));
    let place = moved.map_or(Place { is_here: false, goes_here: false }, |(_, place)| place);
    // SAFETY: as above; the task may be absent.
    unsafe { pelt_cpu_util(config, rq, task, place.is_here, place.goes_here, boost) }
}

pub(crate) fn deadline_bandwidth(running_bw: u64) -> u32 {
    // SAFETY: takes and gives numbers.
    unsafe { pelt_dl_bandwidth(running_bw) }
}

#[inline]
pub(crate) fn need(config: &Config, rq: &Rq, fair_util: u64, limits: &Limits) -> Need {
    let mut need = Need::default();
    // SAFETY: as above.
    unsafe { pelt_need(config, rq, fair_util, limits, &raw mut need) };
    need
}

#[inline]
pub(crate) fn busy(config: &Config, rq: &Rq) -> u64 {
    // SAFETY: as above.
    unsafe { pelt_busy(config, rq) }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    unsafe extern "C" {
        static idlewise_pelt_layout: [u32; 16];
    }

    #[test]
    fn structures_are_laid_out_as_in_c() {
        let ours = [
            size_of::<Config>(),
            offset_of!(Config, limits_apart) + 1,
            size_of::<Speed>(),
            size_of::<Avg>(),
            offset_of!(Avg, frac) + 4,
            size_of::<Clock>(),
            offset_of!(Clock, idle_now_ns) + 8,
            size_of::<Task>(),
            offset_of!(Task, estimate),
            offset_of!(Task, running) + 1,
            size_of::<Rq>(),
            offset_of!(Rq, hw),
            offset_of!(Rq, gone) + 1,
            size_of::<Limits>(),
            offset_of!(Limits, real_time) + 1,
            size_of::<Need>(),
        ];
        // SAFETY: src/layout.c defines it with as many elements, and nothing writes it.
        let theirs = unsafe { idlewise_pelt_layout };
        assert_eq!(theirs.map(|n| n as usize), ours);
    }
}
