// SPDX-License-Identifier: GPL-2.0-only
//! The settings that come nearest to what was published, however many unknowns there are and whatever goes together.
//!
//! CMA-ES: points are drawn from a normal distribution whose mean, width and covariance follow the nearer half of them (Hansen and
//! Ostermeier 2001, "Completely derandomized self-adaptation in evolution strategies", Evolutionary Computation 9). Here with the
//! covariance's Cholesky factor instead of its eigenvectors (Krause, Arbonès, Igel 2016, "CMA-ES with optimal covariance update
//! and storage complexity", NIPS 29). The constants are those of Hansen 2016, "The CMA evolution strategy: a tutorial".

use idlewise_model::Random;
use serde::{Deserialize, Serialize};

/// Points of a generation: more than usual, since distances scatter from seed to seed.
pub(crate) const POINTS: usize = 40;
/// Those of them that the distribution follows.
const PARENTS: usize = POINTS / 2;
/// How wide it is at first, as a share of each range.
const FIRST_WIDTH: f64 = 0.2;
/// Generations in which the median distance must have fallen by [`LEAST_GAIN`].
const PATIENCE: usize = 40;
/// The smallest share by which a search must have come nearer to go on.
const LEAST_GAIN: f64 = 0.03;

/// A search from one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Search {
    mean: Vec<f64>,
    width: f64,
    /// Lower triangle of the covariance's factor, row by row; all of each row.
    factor: Vec<Vec<f64>>,
    width_path: Vec<f64>,
    path: Vec<f64>,
    /// The median distance of each generation.
    pub(crate) medians: Vec<f64>,
}

/// A point of a search.
#[derive(Clone, Debug)]
pub(crate) struct Trial {
    /// The standard normal numbers that it was made of.
    normal: Vec<f64>,
    /// From the mean, in widths.
    step: Vec<f64>,
    /// Where it lies in each range, from 0 to 1.
    pub(crate) shares: Vec<f64>,
}

impl Search {
    /// A search that begins at `start`.
    pub(crate) fn new(start: &[f64]) -> Self {
        let n = start.len();
        let row = |i: usize| (0..n).map(|j| f64::from(u8::from(i == j))).collect();
        Self {
            mean: start.to_vec(),
            width: FIRST_WIDTH,
            factor: (0..n).map(row).collect(),
            width_path: vec![0.0; n],
            path: vec![0.0; n],
            medians: Vec::new(),
        }
    }

    /// The points of the next generation.
    pub(crate) fn draw(&self, random: &mut Random) -> Vec<Trial> {
        (0..POINTS).map(|_| self.point(random)).collect()
    }

    fn point(&self, random: &mut Random) -> Trial {
        let normal: Vec<f64> = self.mean.iter().map(|_| normal(random)).collect();
        let step: Vec<f64> = self.factor.iter().map(|row| dot(row, &normal)).collect();
        let shares = self.mean.iter().zip(&step).map(|(m, s)| folded(m + self.width * s)).collect();
        Trial { normal, step, shares }
    }

    /// Follows the nearer half of `points`, whose distances are these.
    pub(crate) fn learn(&mut self, points: &[Trial], distances: &[f64]) {
        let n = self.mean.len() as f64;
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by(|a, b| distances[*a].total_cmp(&distances[*b]));
        self.medians.push(distances[order[PARENTS]]);
        let nearest: Vec<&Trial> = order.iter().take(PARENTS).map(|i| &points[*i]).collect();
        let weights = weights();
        let effective = 1.0 / weights.iter().map(|w| w * w).sum::<f64>();
        let mean_of = |part: fn(&Trial) -> &Vec<f64>| -> Vec<f64> {
            let sum = |i: usize| weights.iter().zip(&nearest).map(|(w, d)| w * part(d)[i]).sum();
            (0..self.mean.len()).map(sum).collect()
        };
        let (step, drawn) = (mean_of(|d| &d.step), mean_of(|d| &d.normal));

        let c_width = (effective + 2.0) / (n + effective + 5.0);
        let damping = 1.0 + 2.0 * (((effective - 1.0) / (n + 1.0)).sqrt() - 1.0).max(0.0) + c_width;
        let c_path = (4.0 + effective / n) / (n + 4.0 + 2.0 * effective / n);
        let c_one = 2.0 / ((n + 1.3).powi(2) + effective);
        let c_all =
            (1.0 - c_one).min(2.0 * (effective - 2.0 + 1.0 / effective) / ((n + 2.0).powi(2) + effective));
        // The mean length of a standard normal vector.
        let usual = n.sqrt() * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n));

        for (m, s) in self.mean.iter_mut().zip(&step) {
            *m = folded(*m + self.width * s);
        }
        decay(&mut self.width_path, &drawn, 1.0 - c_width, (c_width * (2.0 - c_width) * effective).sqrt());
        let length = dot(&self.width_path, &self.width_path).sqrt();
        let since = self.medians.len() as i32;
        let settled = (1.0 - (1.0 - c_width).powi(2 * since)).sqrt();
        let steady = length / settled < (1.4 + 2.0 / (n + 1.0)) * usual;
        let along = if steady { (c_path * (2.0 - c_path) * effective).sqrt() } else { 0.0 };
        decay(&mut self.path, &step, 1.0 - c_path, along);
        let unsteady = if steady { 0.0 } else { c_one * c_path * (2.0 - c_path) };
        let keep = (1.0 - c_one - c_all + unsteady).sqrt();
        self.factor.iter_mut().flatten().for_each(|x| *x *= keep);
        add(&mut self.factor, c_one, &self.path);
        for (w, d) in weights.iter().zip(&nearest) {
            add(&mut self.factor, c_all * w, &d.step);
        }
        self.width *= (c_width / damping * (length / usual - 1.0)).exp();
    }

    /// Whether it is of so many directions.
    pub(crate) fn fits(&self, directions: usize) -> bool {
        let all = [&self.mean, &self.width_path, &self.path];
        all.into_iter().chain(&self.factor).all(|v| v.len() == directions && v.iter().all(|x| x.is_finite()))
            && self.factor.len() == directions
            && self.width.is_finite()
    }

    /// Whether going on would hardly come nearer, or half of all points are as near as they need to be.
    pub(crate) fn is_done(&self) -> bool {
        let least = |all: &[f64]| all.iter().copied().fold(f64::INFINITY, f64::min);
        let Some(split) = self.medians.len().checked_sub(PATIENCE) else { return self.nearest() <= 1.0 };
        let (before, lately) = self.medians.split_at(split);
        self.nearest() <= 1.0 || least(lately) > (1.0 - LEAST_GAIN) * least(before)
    }

    /// The smallest median distance of a generation.
    pub(crate) fn nearest(&self) -> f64 {
        self.medians.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// How much each of the nearer half counts, the nearest first.
fn weights() -> [f64; PARENTS] {
    let mut out = std::array::from_fn(|i| (PARENTS as f64 + 0.5).ln() - (i as f64 + 1.0).ln());
    let sum: f64 = out.iter().sum();
    out.iter_mut().for_each(|w| *w /= sum);
    out
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn decay(path: &mut [f64], by: &[f64], keep: f64, add: f64) {
    path.iter_mut().zip(by).for_each(|(p, b)| *p = keep * *p + add * b);
}

/// Makes `factor` that of its covariance plus `share` times `along` times itself transposed.
fn add(factor: &mut [Vec<f64>], share: f64, along: &[f64]) {
    let mut rest: Vec<f64> = along.iter().map(|x| share.sqrt() * x).collect();
    for k in 0..rest.len() {
        let (was, x) = (factor[k][k], rest[k]);
        let now = was.hypot(x);
        let (cos, sin) = (now / was, x / was);
        factor[k][k] = now;
        for i in k + 1..rest.len() {
            factor[i][k] = (factor[i][k] + sin * rest[i]) / cos;
            rest[i] = cos * rest[i] - sin * factor[i][k];
        }
    }
}

/// What lies outside of 0 to 1 as if each end were a mirror.
fn folded(x: f64) -> f64 {
    let twice = x.rem_euclid(2.0);
    if twice > 1.0 { 2.0 - twice } else { twice }
}

/// From 0 to 1, with 53 random bits.
pub(crate) fn unit(random: &mut Random) -> f64 {
    (random.draw() >> 11) as f64 / (1_u64 << 53) as f64
}

/// A standard normal number (Box and Muller 1958).
pub(crate) fn normal(random: &mut Random) -> f64 {
    let (u, v) = (1.0 - unit(random), unit(random));
    (-2.0 * u.ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn searched(start: &[f64], distance: impl Fn(&[f64]) -> f64) -> (Search, usize) {
        let mut search = Search::new(start);
        let mut n = 0;
        while !search.is_done() {
            let points = search.draw(&mut Random::stream(5, n));
            let distances: Vec<f64> = points.iter().map(|p| distance(&p.shares)).collect();
            search.learn(&points, &distances);
            n += 1;
        }
        (search, n as usize * POINTS)
    }

    #[test]
    fn normal_numbers_are_normal() {
        let mut random = Random::new(7);
        let all: Vec<f64> = (0..20_000).map(|_| normal(&mut random)).collect();
        let share = |below: f64| all.iter().filter(|x| **x < below).count() as f64 / all.len() as f64;
        for (below, expected) in [(-1.96, 0.025), (-1.0, 0.1587), (0.0, 0.5), (1.0, 0.8413), (1.96, 0.975)] {
            assert!((share(below) - expected).abs() < 0.01, "{below}: {}", share(below));
        }
    }

    #[test]
    fn a_factor_becomes_that_of_the_sum() {
        let mut factor = vec![vec![2.0, 0.0, 0.0], vec![0.5, 1.0, 0.0], vec![-0.3, 0.2, 0.7]];
        let product = |f: &[Vec<f64>], i: usize, j: usize| dot(&f[i], &f[j]);
        let before: Vec<f64> = (0..9).map(|k| product(&factor, k / 3, k % 3)).collect();
        let along = [0.4, -1.5, 0.9];
        add(&mut factor, 0.25, &along);
        for (k, before) in before.iter().enumerate() {
            let (i, j) = (k / 3, k % 3);
            let expected = before + 0.25 * along[i] * along[j];
            assert!((product(&factor, i, j) - expected).abs() < 1e-12, "{i} {j}");
        }
        assert!(factor[0][1] == 0.0 && factor[0][2] == 0.0 && factor[1][2] == 0.0);
    }

    #[test]
    fn what_is_outside_is_reflected() {
        for (x, expected) in [(0.3, 0.3), (-0.3, 0.3), (1.2, 0.8), (2.1, 0.1), (0.0, 0.0), (1.0, 1.0)] {
            assert!((folded(x) - expected).abs() < 1e-12, "{x}");
        }
    }

    /// Twenty unknowns that go together in pairs, one of each pair a hundred times as important.
    #[test]
    fn a_search_finds_what_goes_together_in_many_directions() {
        let distance = |s: &[f64]| {
            let pair = |p: &[f64]| (100.0 * (p[0] - p[1] - 0.1)).powi(2) + (p[0] + p[1] - 0.9).powi(2);
            s.chunks(2).map(pair).sum::<f64>().sqrt() / 0.02
        };
        let (search, draws) = searched(&[0.5; 20], distance);
        assert!(search.nearest() <= 1.0 && draws < 30_000, "{} after {draws}", search.nearest());
        for (i, m) in search.mean.iter().enumerate() {
            assert!((m - [0.5, 0.4][i % 2]).abs() < 0.02, "{i}: {m}");
        }
    }

    #[test]
    fn a_search_ends_where_nothing_is_nearer() {
        let (search, draws) = searched(&[0.9; 5], |s| 3.0 + s.iter().map(|x| (x - 0.2).abs()).sum::<f64>());
        assert!((3.0..3.05).contains(&search.nearest()) && draws < 10_000, "{} {draws}", search.nearest());
    }
}
