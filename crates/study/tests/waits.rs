// SPDX-License-Identifier: GPL-2.0-only
use idlewise_governor::{Instance, Spec};
use idlewise_idle::{Hosted, NEVER_AT_NS};
use idlewise_model::{Confidence, IdleState, IdleTable, TickGrid, WakeCause};
use idlewise_platform::{EnergyTable, Fall};
use idlewise_recording::candidate::Book as _;
use idlewise_replay::{Setting, Workload, WorkloadEvent, run};
use idlewise_study::waits::{Wait, WaitFiles, Waits};

const TICK_NS: u64 = 4_000_000;

fn table() -> IdleTable {
    let state = |us: i64| IdleState {
        name: format!("S{us}"),
        exit_latency_ns: us * 300,
        target_residency_ns: us * 1000,
        entry_ns: 0,
        polling: false,
        disabled: false,
    };
    IdleTable::new(vec![state(1), state(1000)]).unwrap()
}

/// Each begins 10 us after the one before was over; an interrupt that no timer announced.
fn workload(waits_ns: &[u64]) -> Workload {
    let mut now_ns = 100_000;
    let event = |wait_ns: &u64| {
        let start_ns = now_ns;
        now_ns += wait_ns + 10_000;
        WorkloadEvent {
            start_ns,
            at_ns: start_ns + wait_ns,
            hrtimer_at_ns: NEVER_AT_NS,
            wheel_at_ns: NEVER_AT_NS,
            stale_event_at_ns: NEVER_AT_NS,
            exit_lag_ns: 0,
            response_ns: 0,
            handler_ns: 1_000,
            entry_lag_ns: 0,
            util: 0,
            iowait: 0,
            state: 0,
            cause: WakeCause::Irq,
            visit_start: true,
            visit_end: true,
            tick_off: false,
            tick_needed_ns: 0,
            timers: Confidence::Recorded,
        }
    };
    Workload {
        cpu: 0,
        grid: TickGrid::from_hz(250),
        tick_handler_ns: 2_000,
        events: waits_ns.iter().map(event).collect(),
        latency: Vec::new(),
        disabled: Vec::new(),
        refusals: Vec::new(),
    }
}

fn waits(governor: &str, workload: &Workload) -> Vec<Wait> {
    let table = table();
    let energy = EnergyTable::derived(&table, &[], Fall::Geometric).unwrap();
    let mut instance = Instance::load(&governor.parse::<Spec>().unwrap(), TICK_NS).unwrap();
    let slot = instance.add_cpu(0, &table, 1024).unwrap();
    let files = WaitFiles::new([workload]).unwrap();
    let mut ledger = Waits::new(workload, &files, &table, &energy);
    let setting = Setting::new(false, 0);
    run(workload, &table, 1024, setting, &mut Hosted::new(&mut instance, slot), &mut ledger).unwrap();
    files.read(workload.cpu, &ledger.pages()).collect::<Result<_, _>>().unwrap()
}

#[test]
fn every_wait_has_its_asks_and_its_costs() {
    // The third event comes while the deep state is being left for the second.
    let workload = workload(&[20_000_000, 2_000_000, 100_000, 500_000]);
    let deep = waits("deepest", &workload);
    assert_eq!(deep.iter().map(|w| w.asks).collect::<Vec<_>>(), [1, 1, 0, 1]);
    assert_eq!(deep.iter().map(|w| w.first).collect::<Vec<_>>(), [0, 1, 0, 2]);
    assert_eq!((deep[0].latency_ns, deep[0].state, deep[0].tick_kept), (300_000, 1, false));
    assert_eq!((deep[3].above, deep[0].below), (1, 0));
    let ticking = waits("shallow:stop_tick=0", &workload);
    assert_eq!(ticking[0].asks, 6, "five ticks on the way");
    assert!(ticking[0].tick_kept && ticking[0].below > 0);
    assert!(ticking[0].energy_fj > deep[0].energy_fj);
    assert_eq!(deep[0].choices, deep[1].choices);
    assert_ne!(deep[0].choices, ticking[0].choices);
}
