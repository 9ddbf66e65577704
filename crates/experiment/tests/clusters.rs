// SPDX-License-Identifier: GPL-2.0-only

use idlewise_experiment::simulate::{ClusterTime, Clusters};
use idlewise_parts::{Machine, SimEvent, Watch};

#[test]
fn a_cluster_is_as_deep_as_its_shallowest_cpu() {
    let platform = idlewise_platform::find("pixel6").unwrap();
    let machine = Machine::new(&platform, 250, None);
    let mut c = Clusters::new(&machine);
    let mut at = |ns: u64, cpu: u32, state: Option<u8>| match state {
        Some(state) => c.seen(ns, cpu, SimEvent::IdleEntered { state }),
        None => c.seen(ns, cpu, SimEvent::IdleLeft),
    };
    // CPUs 6 and 7 are BIG: awake until 10, WFI until 30, c2 until 100, one awake until 130, WFI until the end.
    at(5, 6, Some(1));
    at(10, 7, Some(0));
    at(30, 7, None);
    at(30, 7, Some(1));
    at(100, 6, None);
    at(130, 6, Some(0));
    c.seen(50, 6, SimEvent::Clock { khz: 851_000 });
    let times = c.times(200);
    assert_eq!(
        times[2],
        ClusterTime { active_ns: 40, states_ns: vec![90, 70], khz_ns: 500_000 * 50 + 851_000 * 150 }
    );
    assert_eq!(times[0], ClusterTime { active_ns: 200, states_ns: vec![0, 0], khz_ns: 300_000 * 200 });
}
