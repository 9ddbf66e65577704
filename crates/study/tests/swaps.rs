// SPDX-License-Identifier: GPL-2.0-only
use idlewise_study::replay::{GovernorSensitivity, MetricSensitivity};

fn governor(name: &str, values: [f64; 3]) -> GovernorSensitivity {
    GovernorSensitivity { governor: name.to_owned(), values: values.to_vec() }
}

#[test]
fn a_pair_swaps_when_each_has_less_somewhere() {
    let all =
        [governor("a", [1.0, 1.0, 3.0]), governor("b", [2.0, 1.0, 2.0]), governor("c", [2.0, 2.0, 4.0])];
    let swaps = |governors: &[GovernorSensitivity]| MetricSensitivity::of("energy", governors.to_vec()).swaps;
    assert_eq!(swaps(&all), [["a", "b"].map(str::to_owned)]);
    assert_eq!(swaps(&all[..1]), [[""; 2]; 0].map(|p| p.map(str::to_owned)));
}
