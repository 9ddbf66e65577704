// SPDX-License-Identifier: GPL-2.0-only
//! Are the kernel's energy models those that were computed separately from the same numbers?

use idlewise_platform::{EnergyGrade, EnergyModel, Kernel, find};

/// MHz, performance, cost and whether inefficient, computed separately from the published curves; Linux 6.12.
type Row = (u64, u64, u64, bool);

const MID: &[Row] = &[
    (400, 88, 3239, false),
    (553, 122, 3576, false),
    (696, 153, 3577, false),
    (799, 176, 3693, false),
    (910, 201, 3996, false),
    (1024, 226, 4111, false),
    (1197, 264, 5017, true),
    (1328, 293, 5010, false),
    (1491, 329, 5568, false),
    (1663, 367, 6500, true),
    (1836, 405, 6396, false),
    (1999, 441, 8208, false),
    (2130, 470, 9117, false),
    (2253, 498, 10583, false),
];
const BIG: &[Row] = &[
    (500, 182, 4797, false),
    (851, 311, 5475, false),
    (984, 359, 5777, false),
    (1106, 404, 6234, false),
    (1277, 466, 6578, false),
    (1426, 521, 7343, false),
    (1582, 578, 8060, false),
    (1745, 637, 8732, false),
    (1826, 667, 9198, false),
    (2048, 748, 10145, false),
    (2188, 799, 10939, false),
    (2252, 823, 11537, false),
    (2401, 877, 12537, false),
    (2507, 916, 13833, false),
    (2630, 961, 15614, false),
    (2704, 988, 16809, false),
    (2802, 1024, 18973, false),
];
const LITTLE: &[Row] = &[
    (300, 26, 8803, true),
    (574, 50, 7170, true),
    (738, 65, 7109, false),
    (930, 82, 8270, false),
    (1098, 97, 9869, false),
    (1197, 106, 10992, false),
    (1328, 117, 11176, false),
    (1401, 124, 12261, false),
    (1598, 141, 13839, false),
    (1704, 151, 15873, false),
    (1803, 160, 16869, false),
];

fn model(platform: &str, cluster: usize, kernel: Kernel) -> EnergyModel {
    EnergyModel::new(&find(platform).unwrap().clusters[cluster], kernel).unwrap()
}

/// A model of the Pixel 6 by its published curves, as if no supplies were known.
fn curve(cluster: usize, kernel: Kernel) -> EnergyModel {
    let mut platform = find("pixel6").unwrap();
    platform.clusters.iter_mut().flat_map(|c| &mut c.clock).for_each(|c| c.coefficient = None);
    EnergyModel::new(&platform.clusters[cluster], kernel).unwrap()
}

/// The curves say otherwise: what a kernel places by is what its device tree says.
#[test]
fn small_tasks_cost_least_on_the_smallest_cpus_of_a_pixel6() {
    let models: Vec<EnergyModel> = (0..3).map(|c| model("pixel6", c, Kernel::V6_12)).collect();
    assert!(models.iter().all(|m| m.computed && m.grade == EnergyGrade::PublishedRelative));
    let least: Vec<u64> = models.iter().map(|m| m.states.iter().map(|s| s.cost).min().unwrap()).collect();
    assert!(least.windows(2).all(|two| two[0] < two[1]), "{least:?}");
}

#[test]
fn pixel6_has_the_costs_and_the_inefficient_points_of_the_published_curves() {
    let mut wrong = Vec::new();
    for (cluster, rows) in [LITTLE, MID, BIG].into_iter().enumerate() {
        let em = curve(cluster, Kernel::V6_12);
        assert_eq!((em.states.len(), em.grade, em.computed), (rows.len(), EnergyGrade::Measured, false));
        for (s, row) in em.states.iter().zip(rows) {
            let ours = (s.khz / 1000, s.performance, s.cost, s.inefficient);
            if ours != *row {
                wrong.push(format!("cluster {cluster}: {ours:?}, computed separately {row:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_golden_vector_of_linux_6_12() {
    let em = curve(2, Kernel::V6_12);
    let state = em.states[em.pick(375, 1024)];
    assert_eq!((state.khz, state.performance, state.cost), (1_106_000, 404, 6234));
    assert_eq!(em.energy(375, 300, 1024), 1_870_200);
    assert_eq!(em.energy(375, 0, 1024), 0);
}

#[test]
fn linux_6_1_adds_its_headroom_itself_and_divides_by_the_capacity() {
    let em = curve(2, Kernel::V6_1);
    // 300 + 300/4 = 375 of 1024 at 2802 MHz asks for 1026.123 MHz.
    let state = em.states[em.pick(300, 1024)];
    assert_eq!((state.khz, state.cost), (1_106_000, 2_802_000 * 251_880 / 1_106_000));
    assert_eq!(em.energy(300, 300, 1024), state.cost * 300 / 1024);
    // 65 of 160 with headroom is 81: 912.768 MHz.
    let little = curve(0, Kernel::V6_1);
    assert_eq!(little.states[little.pick(65, 160)].khz, 930_000);
    assert_eq!(little.states[little.pick(1000, 160)].khz, 1_803_000);
}

#[test]
fn inefficient_points_are_passed_over_and_thermal_pressure_limits() {
    let em = curve(1, Kernel::V6_12);
    let khz = |util, allowed| em.states[em.pick(util, allowed)].khz;
    assert_eq!(khz(0, 1024), 400_000);
    assert_eq!(khz(226, 1024), 1_024_000);
    assert_eq!(khz(227, 1024), 1_328_000, "1197 MHz costs more than 1328 MHz");
    assert_eq!(khz(498, 1024), 2_253_000);
    assert_eq!(khz(5000, 5000), 2_253_000);
    assert_eq!(khz(498, 200), 910_000);
}

#[test]
fn rk3399_has_the_powers_of_voltage_clock_and_coefficient() {
    let powers = |id: &str, cluster| -> Vec<(u64, u64, u64)> {
        let em = model(id, cluster, Kernel::V6_12);
        assert!(em.computed && em.grade == EnergyGrade::PublishedRelative);
        em.states.iter().map(|s| (s.khz / 1000, s.performance, s.power_uw)).collect()
    };
    // Computed separately from the coefficients and voltages of rk3399.dtsi.
    let a53 = [
        (408, 109, 27_769),
        (600, 161, 40_837),
        (816, 219, 58_956),
        (1008, 271, 86_247),
        (1200, 322, 120_000),
        (1416, 381, 179_212),
    ];
    let a72 = [
        (408, 232, 121_075),
        (600, 341, 178_051),
        (816, 464, 242_150),
        (1008, 573, 336_483),
        (1200, 682, 472_188),
        (1416, 805, 648_630),
        (1608, 914, 848_316),
        (1800, 1024, 1_130_112),
    ];
    assert_eq!(powers("rk3399", 0), a53);
    assert_eq!(powers("rk3399", 1), a72);
    // Nowhere published: 436 * 1250^2 * 2016 / 10^6 and 100 * 1150^2 * 1512 / 10^6.
    assert_eq!(powers("rk3399-op1", 1)[8], (2016, 1024, 1_373_400));
    assert_eq!(powers("rk3399-op1", 0)[6], (1512, 363, 199_962));
}

#[test]
fn a_machine_without_published_power_has_no_model() {
    for id in ["skylake-sp", "power9", "kvm-guest"] {
        assert_eq!(EnergyModel::new(&find(id).unwrap().clusters[0], Kernel::V6_12), None, "{id}");
    }
}
