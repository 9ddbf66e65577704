// SPDX-License-Identifier: GPL-2.0-only
//! The settings that no other beats in everything.

/// Which of `points`, of which less is better in every coordinate, are on the front: no other is as good in all coordinates and better
/// in one. A point with an unknown coordinate is not.
pub(crate) fn front(points: &[Vec<f64>]) -> Vec<bool> {
    let mut known: Vec<usize> =
        (0..points.len()).filter(|&n| points[n].iter().all(|v| v.is_finite())).collect();
    // What beats a point comes before it.
    known.sort_by(|&a, &b| {
        let each = points[a].iter().zip(&points[b]);
        each.map(|(x, y)| x.total_cmp(y)).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut on = vec![false; points.len()];
    let mut members: Vec<usize> = Vec::new();
    for n in known {
        let beats = |m: &usize| {
            let pairs = || points[*m].iter().zip(&points[n]);
            pairs().all(|(x, y)| x <= y) && pairs().any(|(x, y)| x < y)
        };
        if !members.iter().any(beats) {
            on[n] = true;
            members.push(n);
        }
    }
    on
}
