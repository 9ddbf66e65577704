// SPDX-License-Identifier: GPL-2.0-only
//! The guest as a machine.

use idlewise_platform::{Cluster, Costs, Platform};

/// HZ of the lab's kernel: with it a CPU that another wakes waits least for its turn (boot-behaviour.md, 2).
pub(super) const HZ: u32 = 1000;

/// Of all the guest's CPUs.
const SPEED: u32 = 1024;

/// Time that the guest's kernel takes where every event of a stock kernel is recorded: medians of recordings under the kernel's
/// menu (docs/validation/simulation-against-real-runs.md). An instruction takes 4 ns there, a recorded event about 3 us; rt-app
/// itself takes `user_ns` to each event of its file that sleeps or waits, `loop_ns` to the next round.
const GUEST_COSTS: Costs = Costs {
    irq_ns: 15_700,
    irq_exit_ns: 13_900,
    tick_ns: 7_700,
    wake_ns: 10_200,
    switch_ns: 4_000,
    user_ns: 4_600,
    loop_ns: 26_700,
    syscall_ns: 8_700,
    block_ns: 8_700,
    idle_ns: 7_400,
    again_ns: 10_600,
    stop_tick_ns: 12_300,
    start_tick_ns: 11_400,
    leave_ns: 7_600,
    ipi_ns: 2_000,
    ipi_wake_ns: 4_000,
    mem_bytes_per_us: 1_000,
};
const GUEST_COSTS_SOURCE: &str = "recordings of the boot lab's guest, QEMU counting 4 ns an instruction";

/// The platform as the guest is it, for a simulation of the same. Its CPUs are all as fast, but its kernel takes them for what the
/// device tree says; without `cpufreq` they have no clocks.
#[must_use]
pub fn guest(platform: &Platform, cpufreq: bool) -> Platform {
    let cluster = |c: &Cluster| Cluster {
        speed: Some(SPEED),
        thread_speed: vec![1000],
        cache_cpus: None,
        clock: c.clock.clone().filter(|_| cpufreq),
        ..c.clone()
    };
    Platform {
        hz: Some(HZ),
        hz_note: "the boot lab's kernel".to_owned(),
        one_cache: true,
        one_thread: true,
        costs: Some((GUEST_COSTS, GUEST_COSTS_SOURCE.to_owned())),
        battery: None,
        package: None,
        limits: None,
        thermal: None,
        clusters: platform.clusters.iter().map(cluster).collect(),
        ..platform.clone()
    }
}
