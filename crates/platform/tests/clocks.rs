// SPDX-License-Identifier: GPL-2.0-only
//! Is what a simulation needs of a clock there: points, capacities, energy at each, what the cluster shares?

use idlewise_platform::{Clock, ClockPolicy, Cluster, EnergyGrade, EnergyTable, Platform, find, shipped};

fn cluster(platform: &str, index: usize) -> Cluster {
    find(platform).unwrap().clusters.swap_remove(index)
}

fn clock(c: &Cluster) -> &Clock {
    c.clock.as_ref().unwrap()
}

fn powers(e: &EnergyTable) -> Vec<u64> {
    e.states.iter().map(|s| s.power_uw).collect()
}

#[test]
fn these_machines_have_clocks_and_no_others() {
    let with: Vec<&str> = shipped()
        .iter()
        .map(|(id, _)| *id)
        .filter(|id| find(id).unwrap().clusters.iter().all(|c| c.clock.is_some()))
        .collect();
    let expected = [
        "broadwell-ep-2690v4",
        "comet-lake-10600k",
        "hikey620",
        "hikey960",
        "ice-lake-8358",
        "jasper-lake",
        "jasper-lake-bxt",
        "juno",
        "kaby-lake-15w",
        "msm8996",
        "pixel6",
        "rk3399",
        "rk3399-op1",
        "sandy-bridge",
    ];
    assert_eq!(with, expected);
}

#[test]
fn at_every_point_every_target_residency_is_a_break_even() {
    for (id, _) in shipped() {
        for c in find(id).unwrap().clusters.iter().filter(|c| c.clock.is_some()) {
            for (i, p) in clock(c).points.iter().enumerate() {
                assert_eq!(c.energy_at_point(i), &p.energy);
                for e in [Some(&p.energy), p.shared.as_ref()].into_iter().flatten() {
                    let states = c.table.states();
                    for j in 1..states.len() {
                        let at = |i: usize| {
                            let t = states[j].target_residency_ns.unsigned_abs();
                            e.stay_fj(i, t, states[i].entry_ns.unsigned_abs())
                        };
                        assert_eq!(at(j - 1), at(j), "{id} {} {} kHz state {j}", c.name, p.khz);
                    }
                    assert!(!e.basis.is_empty());
                }
                let polling = c.power.as_ref().map_or(1000, |power| power.polling);
                for (s, e) in c.table.states().iter().zip(&p.energy.states) {
                    assert!(if s.polling {
                        e.power_uw == p.active_uw() * polling / 1000
                    } else {
                        e.power_uw <= p.active_uw()
                    });
                }
            }
        }
    }
}

/// Governors are given the device tree's 3.5 ms; a stay costs what running for 690 us does, at every clock.
#[test]
fn a_known_transition_costs_running_power() {
    let changes = [("cluster.BIG.state.c2.transition_us".to_owned(), "690".to_owned())].into();
    let machine = find("pixel6").unwrap().changed(&changes).unwrap();
    let c = &machine.clusters[2];
    assert_eq!(c.table.states()[1].target_residency_ns, 3_500_000);
    for e in clock(c).points.iter().map(|p| &p.energy).chain([&c.energy]) {
        assert_eq!((e.states[0].transition_fj, e.states[1].transition_fj), (0, 690_000 * e.active_power_uw));
    }
    assert_eq!(c.energy_at(984_000).unwrap().unwrap(), c.energy);
    assert!(Platform::from_toml(&machine.to_toml(), "b.toml").unwrap().same_as(&machine));
    for (key, value, words) in [
        ("transition_us", "3600000001", "from 0 to 3600000000"),
        ("refill_us", "3600000001", "from 0 to 3600000000"),
        ("measured_wake_ns", "1000", "without the first state's"),
    ] {
        let change = [(format!("cluster.BIG.state.c2.{key}"), value.to_owned())].into();
        let why = find("pixel6").unwrap().changed(&change).unwrap_err().to_string();
        assert!(why.contains(key) && why.contains(words), "{why}");
    }
}

#[test]
fn capacity_follows_the_kernels_clock_and_speed_the_real_one() {
    let little = cluster("pixel6", 0);
    let capacities: Vec<u32> = clock(&little).points.iter().map(|p| p.capacity).collect();
    assert_eq!(capacities, [26, 50, 65, 82, 97, 106, 117, 124, 141, 151, 160]);
    let desktop = cluster("sandy-bridge", 0);
    let c = clock(&desktop);
    assert_eq!((c.top_khz(), c.points[15].real_khz, c.points[15].capacity), (3_401_000, 3_800_000, 1024));
    assert_eq!(
        (c.points[14].khz, c.points[14].real_khz, c.points[14].capacity),
        (3_400_000, 3_400_000, 1023)
    );
    assert_eq!((c.policy, c.fast_switch, c.invariant), (ClockPolicy::Cpu, true, false));
    assert_eq!(c.transition_latency_ns, 10_000);
}

#[test]
fn pixel6_has_its_makers_limits() {
    let limits = |i| {
        let c = cluster("pixel6", i);
        let c = clock(&c);
        (c.transition_latency_ns, c.up_rate_limit_us, c.down_rate_limit_us, c.coefficient, c.policy)
    };
    assert_eq!(limits(0), (5_000_000, Some(500), Some(5000), Some(70), ClockPolicy::Cluster));
    assert_eq!(limits(2), (5_000_000, Some(500), Some(20_000), Some(650), ClockPolicy::Cluster));
}

#[test]
fn wfi_and_the_way_down_cost_what_the_clock_makes_them_cost() {
    let big = cluster("pixel6", 2);
    let first = big.energy_at_point(0);
    let top = big.energy_at_point(16);
    // 16.14 and 121.43 mW for 3.5 ms: 56.5 and 425.0 uJ (`signal-behaviour.md` D5).
    assert_eq!((powers(first), first.states[1].transition_fj), (vec![16_140, 0], 56_490_000_000));
    assert_eq!((powers(top), top.states[1].transition_fj), (vec![121_430, 0], 425_005_000_000));
    assert_eq!((first.active_power_uw, top.active_power_uw), (87_310, 1_942_890));
    assert_eq!((first.grade, first.unit()), (EnergyGrade::Measured, "mJ"));
    assert!(first.basis.contains("at 500.000 MHz"), "{}", first.basis);
    assert_eq!(big.energy_at_point(17), &big.energy, "past the end");
    assert!(big.shared_energy_at_point(0).is_none());
}

#[test]
fn what_a_cluster_shares_is_apart_and_stays_on_until_all_sleep_deeply() {
    let little = cluster("pixel6", 0);
    let shared = little.shared_energy_at_point(3).unwrap();
    assert_eq!((shared.active_power_uw, powers(shared)), (9750, vec![9750, 0]));
    // An energy-aware-scheduling table says it for each state, whatever the clock.
    let a53 = cluster("rk3399", 0);
    for (i, on) in [6000, 8000, 10_000, 18_000, 22_000, 45_000].into_iter().enumerate() {
        let shared = a53.shared_energy_at_point(i).unwrap();
        assert_eq!((shared.active_power_uw, powers(shared)), (on, vec![7000, 6000, 0]));
        assert_eq!(powers(a53.energy_at_point(i)), [4000, 0, 0]);
        assert_eq!(shared.states[2].transition_fj, 1000 * 900_000 + 6000 * 2_000_000);
    }
    assert_eq!(a53.energy_at_point(5).active_power_uw, 162_000);
}

#[test]
fn where_nothing_is_published_running_falls_with_the_clock_and_the_voltage() {
    let c = cluster("sandy-bridge", 0);
    let (first, top) = (c.energy_at_point(0), c.energy_at_point(15));
    assert_eq!(powers(top), powers(&c.energy), "at the top the assumptions are those for every machine");
    // 10 000 * 1600/3800 * (0.6/1.05)^2, and 1000 * (0.6/1.05)^2.
    assert_eq!((first.active_power_uw, powers(first)[0], powers(first)[1]), (1375, 1375, 327));
    assert_eq!(first.grade, EnergyGrade::DerivedFromBreakEven);
    assert!(first.basis.contains("estimated as f V^2"), "{}", first.basis);
    // 10 000 * 2800/3800 * (0.845454/1.05)^2.
    let middle = c.energy_at_point(9);
    assert_eq!(clock(&c).points[9].khz, 2_800_000);
    assert_eq!(middle.active_power_uw, 4777);
    assert!(c.shared_energy_at_point(0).is_none());
}

#[test]
fn published_voltages_are_better_than_assumed_ones() {
    let board = |volts: [u32; 2]| {
        let [low, high] = volts;
        let text = format!(
            "format = 1\nid = \"x\"\nname = \"X\"\n[[cluster]]\nname = \"a\"\ncpus = [0]\n\
             [[cluster.state]]\nname = \"WFI\"\nexit_latency_us = 1\nresidency_us = 1\n\
             [cluster.clock]\ntransition_latency_us = 0\ninvariant = true\nsource = \"s\"\n\
             points = [{{ khz = 1000, volt_uv = {low} }}, {{ khz = 2000, volt_uv = {high} }}]\n"
        );
        let p = Platform::from_toml(&text, "x.toml").unwrap_or_else(|e| panic!("{e}"));
        p.clusters[0].energy_at_point(0).active_power_uw
    };
    assert_eq!(board([900_000, 900_000]), 5000);
    assert_eq!(board([500_000, 1_000_000]), 1250);
}

#[test]
fn a_machine_without_a_clock_has_one_point() {
    let c = cluster("skylake-sp", 0);
    assert!(c.clock.is_none());
    assert_eq!(c.energy_at_point(0), &c.energy);
    assert!(c.shared_energy_at_point(0).is_none());
}
