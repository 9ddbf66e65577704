// SPDX-License-Identifier: GPL-2.0-only

use idlewise_experiment::beside::{Pair, TraceMeasures, cells};
use idlewise_model::Counted;

fn pair(governor: &str, real: [f64; 2], simulated: [f64; 2]) -> Pair {
    let measures = |[too_deep_pct, too_shallow_pct]: [f64; 2]| TraceMeasures {
        window_ns: 1,
        wakeups_per_s: 1.0,
        too_deep_pct,
        too_shallow_pct,
        ticks_per_s: 0.0,
        states: Vec::new(),
        stays_pct: [0.0; 4],
        tasks: Vec::new(),
    };
    Pair {
        recording: String::new(),
        platform: "pixel6".to_owned(),
        kernel: "6.12".to_owned(),
        governor: governor.to_owned(),
        cpus: vec![0],
        real: measures(real),
        simulated: measures(simulated),
    }
}

fn all(ns: u32) -> Counted {
    let mut counted = Counted::default();
    (0..10).for_each(|_| counted.push(ns));
    counted
}

#[test]
fn starts_of_a_governor_are_one_cell_and_menus_are_compared_with_their_like() {
    let pairs = [
        pair("menu", [10.0, 1.0], [13.0, 1.0]),
        pair("menu", [14.0, 1.0], [15.0, 1.0]),
        pair("teo", [5.0, 0.0], [6.0, 2.0]),
        pair("menu.c", [20.0, 0.0], [20.0, 0.0]),
        pair("teo.c", [21.0, 0.0], [24.0, 0.0]),
    ];
    let lengths = [
        [all(1000), all(2000)],
        [all(4000), all(4000)],
        [all(1), all(1)],
        [Counted::default(), all(1)],
        [all(1), all(1)],
    ];
    let cells = cells(&pairs, &lengths);
    let names: Vec<(&str, usize)> = cells.iter().map(|c| (c.governor.as_str(), c.recordings)).collect();
    assert_eq!(names, [("menu", 2), ("teo", 1), ("menu.c", 1), ("teo.c", 1)]);
    let menu = &cells[0];
    assert_eq!((menu.too_deep.real.mean, menu.too_deep.gap.mean, menu.too_deep.gap.min), (12.0, 2.0, 1.0));
    assert!(menu.too_deep.gap.half_width.is_some() && cells[1].too_deep.gap.half_width.is_none());
    // Twice as long once, the same once; the recordings are four times apart.
    let near = |a: Option<f64>, b: f64| (a.unwrap() - b).abs() < 1e-9;
    assert!(near(menu.lengths_apart_pct, 50.0) && near(menu.recordings_apart_pct, 300.0), "{menu:?}");
    assert_eq!((cells[2].lengths_apart_pct, cells[1].recordings_apart_pct), (None, None));
    let against = |i: usize| cells[i].against_menu.as_ref().map(|a| (a.menu.as_str(), a.gap()));
    assert_eq!(against(1), Some(("menu", [-1.0, 2.0])));
    assert_eq!(against(3), Some(("menu.c", [3.0, 0.0])));
    assert_eq!((against(0), against(2)), (None, None));
}
