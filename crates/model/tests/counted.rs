// SPDX-License-Identifier: GPL-2.0-only
use idlewise_model::{Counted, nth};

/// Values that are sorted at a time, at the least.
const RECENT: usize = 4_096;

/// How many values are held unsorted, and how many different ones sorted.
fn held(counted: &Counted) -> (usize, usize) {
    let parts = serde_json::to_value(counted).unwrap();
    let len = |part: &str| parts[part].as_array().unwrap().len();
    (len("recent"), len("sorted"))
}

#[test]
fn the_ranks_are_those_of_all_values_sorted() {
    // A simple generator; many values come more than once.
    let mut seed = 1u32;
    let mut all = Vec::new();
    let mut parts = [Counted::default(), Counted::default()];
    for n in 0..3 * RECENT {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let value = seed >> 20;
        all.push(value);
        parts[usize::from(n % 5 == 0)].push(value);
    }
    let (recent, sorted) = held(&parts[0]);
    assert!(recent <= RECENT && sorted > 0);
    parts[1].settle();
    let (recent, sorted) = held(&parts[1]);
    assert!(recent == 0 && sorted <= 4096);
    all.sort_unstable();
    let ranks = Counted::ranks(parts.iter());
    assert_eq!(ranks.iter().map(|r| r.1).sum::<u64>(), all.len() as u64);
    assert!((0..all.len()).all(|n| nth(&ranks, n as u64) == all.get(n).copied()));
    assert_eq!(nth(&ranks, all.len() as u64), None);
}

#[test]
fn the_order_makes_no_difference() {
    let of = |values: &mut dyn Iterator<Item = u32>| {
        let mut c = Counted::default();
        values.for_each(|v| c.push(v));
        c
    };
    let n = 2 * RECENT as u32 + 3;
    assert_eq!(of(&mut (0..n)), of(&mut (0..n).rev()));
    assert_ne!(of(&mut (0..n)), of(&mut (1..n)));
}
