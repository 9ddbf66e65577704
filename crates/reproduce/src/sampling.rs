// SPDX-License-Identifier: GPL-2.0-only
//! Which settings of the unknowns meet what was published of the baseline, within its noise.
//!
//! Approximate Bayesian computation with a population that moves towards the published numbers by replenishment (Drovandi and
//! Pettitt 2011, "Estimation of parameters for macroparasite population evolution using approximate Bayesian computation",
//! Biometrics 67): the half that is nearer stays, the other half starts from it anew and moves by steps that stay as near. All
//! points count the same. Steps are differences of two others, as in differential evolution (ter Braak 2006, "A Markov chain
//! Monte Carlo version of the genetic algorithm Differential Evolution", Statistics and Computing 16).
//!
//! Where the population ends without having met the numbers, searches start from points of it (`search.rs`). The points that
//! they found as near as half of the nearest search's are a population again, which spreads by such steps.

use idlewise_experiment::ExperimentError;
use idlewise_model::Random;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::experiment::{Column, Experiment, Row};
use crate::runs::{NOTHING, Runs};
use crate::search::{POINTS, Search, Trial, normal, unit};
use crate::unknown::Point;

/// Points of a population.
const POPULATION: usize = 240;
/// Those of them that stay.
const KEPT: usize = POPULATION / 2;
/// Fewer steps than this share stay as near: the population is where it can be.
const LEAST_ACCEPTED: f64 = 0.02;
/// A point takes so many steps that hardly any stays where it began, but no more than these.
const STEPS: std::ops::RangeInclusive<u64> = 1..=16;
const LEFT: f64 = 0.1;
/// What is added to each step in each direction, so that no two points stay the same.
const JITTER: f64 = 1e-3;
/// Searches where the population by itself does not come near enough.
const SEARCHES: usize = 4;
/// The population by itself tries no more than one of so many points.
const BY_ITSELF: u64 = 8;
/// Generations that spread over what the searches found.
const SPREADING: u64 = 4;
/// Numbers farther off than so many times their noise are equally far: one of them does not hide the others.
const FARTHEST: f64 = 50.0;

/// A point that was tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tried {
    /// Where each unknown lies in its range, from 0 to 1.
    shares: Vec<f64>,
    /// Of the fitted numbers from the published ones.
    distance: f64,
}

/// How far a point is from the goal: by where it lies in each direction, and a seed.
pub(crate) type Distance<'d, E> = dyn Fn(&[f64], u64) -> Result<f64, E> + Sync + 'd;

/// Points that meet the goal better and better, generation by generation; can be stored between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Population {
    /// How many generations there were so far.
    generation: u64,
    /// Points that were tried so far.
    pub(crate) draws: u64,
    /// Steps that each new point takes in the next generation.
    steps: u64,
    /// The share of steps that stayed as near in the last generation that moved.
    accepted: Option<f64>,
    /// No more are needed, or help.
    pub(crate) done: bool,
    /// All that there are, the nearest first.
    points: Vec<Tried>,
    /// Searches from points of it.
    searches: Vec<Searching>,
    /// Generations since they ended.
    spreading: u64,
}

/// A search, and the nearest points that it has tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Searching {
    search: Search,
    found: Vec<Tried>,
}

/// Where new points begin.
#[derive(Clone, Copy)]
enum Start {
    /// Each at one of the points by chance.
    Any,
    /// At one of them after the other.
    Each,
}

impl Population {
    /// The greatest distance of a point: 1 or less where all meet the baseline within its noise.
    pub(crate) fn distance(&self) -> f64 {
        self.points.last().map_or(f64::INFINITY, |t| t.distance)
    }

    /// Whether a drawing of at most so many points in so many directions can have come to this.
    pub(crate) fn fits(&self, directions: usize, most: u64) -> bool {
        let all =
            |shares: &[f64]| shares.len() == directions && shares.iter().all(|s| (0.0..=1.0).contains(s));
        let sound = |t: &Tried| all(&t.shares) && t.distance >= 0.0;
        let searches = self.searches.iter().all(|s| s.search.fits(directions) && s.found.iter().all(sound));
        // Spreading may try as many again, and the last generation of steps goes beyond.
        let last = POPULATION as u64 * STEPS.end();
        let counts =
            self.draws <= 2 * most + last && self.generation <= self.draws && *STEPS.end() >= self.steps;
        let points = match (self.generation, self.spreading) {
            (0, _) => self.points.is_empty() && self.searches.is_empty(),
            // What the searches found.
            (_, 1) => !self.points.is_empty(),
            _ => self.points.len() == POPULATION,
        };
        points && self.points.iter().all(sound) && searches && self.searches.len() <= SEARCHES && counts
    }

    /// One generation more of points with so many `directions`, whose `distance` depends on where each lies and on a seed of its
    /// own. `most`: points to try in all.
    pub(crate) fn next<E: Send>(
        &mut self,
        directions: usize,
        seed: u64,
        most: u64,
        distance: &Distance<'_, E>,
    ) -> Result<(), E> {
        self.generation += 1;
        if self.spreading > 0 {
            return self.spread_out(seed, most, distance);
        }
        if !self.searches.is_empty() {
            return self.search(seed, most, distance);
        }
        let generation = self.generation;
        let chance = |n: usize| Random::stream(seed, (generation << 20) + n as u64);
        if self.points.is_empty() {
            let shares = spread(&mut chance(0), directions);
            let tried = |(n, shares): (usize, Vec<f64>)| {
                Ok(Tried { distance: distance(&shares, n as u64 + 1)?, shares })
            };
            self.points = shares.into_par_iter().enumerate().map(tried).collect::<Result<_, E>>()?;
            (self.draws, self.steps) = (POPULATION as u64, 1);
        } else {
            self.points.truncate(KEPT);
            let farthest = self.distance().max(1.0);
            let new = self.moved(POPULATION - KEPT, Start::Any, farthest, seed, distance)?;
            self.points.extend(new);
        }
        // All that is within the noise is equally good; of equals the earlier stays.
        self.points.sort_by(|a, b| a.distance.max(1.0).total_cmp(&b.distance.max(1.0)));
        self.done = self.distance() <= 1.0 || self.draws >= most;
        if !self.done && (self.is_stuck() || self.draws >= most / BY_ITSELF) {
            self.searches.push(self.search_from(0));
        }
        Ok(())
    }

    /// Whether hardly any step of the last generation stayed as near.
    fn is_stuck(&self) -> bool {
        self.accepted.is_some_and(|share| share < LEAST_ACCEPTED)
    }

    /// So many new points, each after steps from one of those there are that stay no farther than `farthest`.
    fn moved<E: Send>(
        &mut self,
        count: usize,
        from: Start,
        farthest: f64,
        seed: u64,
        distance: &Distance<'_, E>,
    ) -> Result<Vec<Tried>, E> {
        let (kept, steps, before, generation) = (&self.points, self.steps, self.draws, self.generation);
        let moved = |n: usize| {
            let first_seed = before + n as u64 * steps + 1;
            let mut random = Random::stream(seed, (generation << 20) + n as u64);
            let at = match from {
                Start::Any => any(kept, &mut random),
                Start::Each => &kept[n % kept.len()],
            };
            moved(at, kept, steps, farthest, &mut random, &|shares, i| distance(shares, first_seed + i))
        };
        let new: Vec<(Tried, u64)> = (0..count).into_par_iter().map(moved).collect::<Result<_, E>>()?;
        let tried = steps * count as u64;
        let accepted = new.iter().map(|(_, accepted)| accepted).sum::<u64>() as f64 / tried as f64;
        self.draws += tried;
        self.steps = enough(accepted);
        self.accepted = Some(accepted);
        Ok(new.into_iter().map(|(point, _)| point).collect())
    }

    /// Search `n` from one of the nearer half of the points; no two from the same.
    fn search_from(&self, n: usize) -> Searching {
        let start = &self.points[n * KEPT / SEARCHES].shares;
        Searching { search: Search::new(start), found: Vec::new() }
    }

    /// One generation of the last search.
    fn search<E: Send>(&mut self, seed: u64, most: u64, distance: &Distance<'_, E>) -> Result<(), E> {
        let ended = self.searches.len() as u64;
        let Some(last) = self.searches.last_mut() else { unreachable!("no search has begun") };
        let points = last.search.draw(&mut Random::stream(seed, self.generation << 20));
        let first_seed = self.draws + 1;
        let at = |(n, point): (usize, &Trial)| distance(&point.shares, first_seed + n as u64);
        let distances: Vec<f64> = points.par_iter().enumerate().map(at).collect::<Result<_, E>>()?;
        last.search.learn(&points, &distances);
        self.draws += POINTS as u64;
        let tried = points.into_iter().zip(distances);
        last.found.extend(tried.map(|(point, distance)| Tried { shares: point.shares, distance }));
        last.found.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        last.found.truncate(KEPT);
        if last.search.is_done() || self.draws >= most * ended / SEARCHES as u64 {
            if self.searches.len() < SEARCHES {
                self.searches.push(self.search_from(self.searches.len()));
            } else {
                self.gather();
            }
        }
        Ok(())
    }

    /// Makes what the searches found the population: points as near as half of the nearest search's.
    fn gather(&mut self) {
        let goal = self.goal();
        let found = self.searches.iter().flat_map(|s| &s.found).filter(|t| t.distance <= goal);
        self.points = found.cloned().collect();
        self.points.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        (self.steps, self.spreading) = (enough(LEFT), 1);
    }

    /// How near points have to be that searches have led to.
    fn goal(&self) -> f64 {
        self.searches.iter().map(|s| s.search.nearest()).fold(f64::INFINITY, f64::min).max(1.0)
    }

    /// One generation of steps over all that is as near as what the searches found; each point goes on as often as any other.
    fn spread_out<E: Send>(&mut self, seed: u64, most: u64, distance: &Distance<'_, E>) -> Result<(), E> {
        self.points = self.moved(POPULATION, Start::Each, self.goal(), seed, distance)?;
        self.points.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        self.done = self.spreading >= SPREADING || self.draws >= 2 * most;
        self.spreading += 1;
        Ok(())
    }

    /// So many of the points: what the unknowns may be.
    pub(crate) fn samples(&self, count: usize, seed: u64) -> Vec<Vec<f64>> {
        let mut order: Vec<&Tried> = self.points.iter().collect();
        let mut random = Random::stream(seed, 0);
        for i in (1..order.len()).rev() {
            order.swap(i, random.below(i as u64 + 1) as usize);
        }
        order
            .iter()
            .cycle()
            .take(if order.is_empty() { 0 } else { count })
            .map(|t| t.shares.clone())
            .collect()
    }
}

/// One of the points.
fn any<'a>(points: &'a [Tried], random: &mut Random) -> &'a Tried {
    &points[random.below(points.len() as u64) as usize]
}

/// A new point: one that was kept, after so many steps that stay no farther than all that were kept; and how many did.
fn moved<E>(
    from: &Tried,
    kept: &[Tried],
    steps: u64,
    farthest: f64,
    random: &mut Random,
    distance: &Distance<'_, E>,
) -> Result<(Tried, u64), E> {
    let mut at = from.clone();
    let mut accepted = 0;
    for i in 0..steps {
        let (a, b) = (any(kept, random), any(kept, random));
        let length = 2.38 / (2.0 * at.shares.len() as f64).sqrt() * unit(random);
        let step = |((x, a), b): ((&f64, &f64), &f64)| x + length * (a - b) + JITTER * normal(random);
        let shares: Vec<f64> = at.shares.iter().zip(&a.shares).zip(&b.shares).map(step).collect();
        // What cannot be is not tried.
        if shares.iter().all(|s| (0.0..=1.0).contains(s)) {
            let distance = distance(&shares, i)?;
            if distance <= farthest {
                at = Tried { shares, distance };
                accepted += 1;
            }
        }
    }
    Ok((at, accepted))
}

/// Steps after which but few points are where they began, if such a share of steps is accepted.
fn enough(accepted: f64) -> u64 {
    let steps = (LEFT.ln() / (1.0 - accepted.clamp(1e-9, 0.999)).ln()).ceil();
    (steps as u64).clamp(*STEPS.start(), *STEPS.end())
}

/// Points all over the prior: in each direction one in each of as many equal parts (McKay, Beckman, Conover 1979,
/// Technometrics 21).
pub(crate) fn spread(random: &mut Random, directions: usize) -> Vec<Vec<f64>> {
    let mut out = vec![Vec::new(); POPULATION];
    for _ in 0..directions {
        let mut parts: Vec<usize> = (0..POPULATION).collect();
        for i in (1..POPULATION).rev() {
            parts.swap(i, random.below(i as u64 + 1) as usize);
        }
        for (point, part) in out.iter_mut().zip(parts) {
            point.push((part as f64 + unit(random)) / POPULATION as f64);
        }
    }
    out
}

/// The baseline's fitted numbers at `point`, in the order of the rows; infinite where nothing was there to count.
///
/// # Errors
/// [`ExperimentError`] where a run fails: a setting with which nothing can be run says nothing of the baseline.
pub(crate) fn fitted(e: &Experiment, point: &Point) -> Result<Vec<f64>, ExperimentError> {
    let (Some(fit), Some(baseline)) = (&e.fit, e.baseline()) else { return Ok(Vec::new()) };
    let mut runs = Runs::default();
    let rows = e.row.iter().filter(|r| fit.rows.contains(&r.name));
    let number = |row: &Row| match runs.number(e, row, baseline, point)? {
        Ok(number) => Ok(number),
        Err(why) if why.ends_with(NOTHING) => Ok(f64::INFINITY),
        Err(why) => Err(ExperimentError::Run(format!("{}, row {}: {why}", e.id, row.name))),
    };
    rows.map(number).collect()
}

/// How far the baseline's fitted numbers are from the published ones at `point`, in multiples of their noise: the root of the
/// mean square over the rows, each of which counts as no more than [`FARTHEST`].
pub(crate) fn distance(e: &Experiment, point: &Point) -> Result<f64, ExperimentError> {
    let (Some(fit), Some(baseline)) = (&e.fit, e.baseline()) else { return Ok(0.0) };
    let rows = e.row.iter().filter(|r| fit.rows.contains(&r.name));
    let off = rows.zip(fitted(e, point)?).filter_map(|(row, ours)| e.off(row, baseline, ours));
    let (sum, n) =
        off.map(|off| off.min(FARTHEST)).fold((0.0, 0.0), |(sum, n), off| (sum + off * off, n + 1.0));
    Ok(if n > 0.0 { f64::sqrt(sum / n) } else { 0.0 })
}

impl Experiment {
    /// How far `ours` is outside of what was published of the baseline, in multiples of its noise.
    pub(crate) fn off(&self, row: &Row, baseline: &Column, ours: f64) -> Option<f64> {
        let (from, to) = row.published.get(&baseline.name)?.ends();
        Some((from - ours).max(ours - to).max(0.0) / self.off_by(row, baseline))
    }

    /// The noise of a published number in the row's unit.
    pub(crate) fn off_by(&self, row: &Row, column: &Column) -> f64 {
        // A change has the noise of two numbers.
        let noise = self.noise(row, column).value / std::f64::consts::SQRT_2;
        let middle = row.published.get(&column.name).map_or(f64::NAN, |p| p.middle());
        if row.in_points() { noise } else { noise / 100.0 * middle.abs() }
    }

    pub(crate) fn point_at(&self, shares: &[f64], seed: u64) -> Point {
        let settings = self.unknown.iter().zip(shares).map(|(u, s)| (u.name.clone(), u.at(*s))).collect();
        Point { settings, seed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_points_are_all_over_the_prior() {
        let points = spread(&mut Random::new(1), 3);
        for direction in 0..3 {
            let mut parts: Vec<usize> =
                points.iter().map(|p| (p[direction] * POPULATION as f64) as usize).collect();
            parts.sort_unstable();
            assert_eq!(parts, (0..POPULATION).collect::<Vec<_>>());
        }
        assert_eq!(points, spread(&mut Random::new(1), 3));
        assert_ne!(points, spread(&mut Random::new(2), 3));
    }

    /// What is within 0.05 of 0.3 in one direction meets the goal; the other does not matter.
    #[test]
    fn a_population_ends_as_the_part_of_the_prior_that_meets_the_goal() {
        let mut p = Population::default();
        let distance = |shares: &[f64], _: u64| Ok::<_, ()>((shares[0] - 0.3).abs() / 0.05);
        while !p.done {
            p.next(2, 3, 10_000, &distance).unwrap();
        }
        assert!(p.distance() <= 1.0 && p.draws < 3000, "{} after {}", p.distance(), p.draws);
        let samples = p.samples(400, 1);
        let moments = |i: usize| {
            let mean = samples.iter().map(|s| s[i]).sum::<f64>() / 400.0;
            (mean, (samples.iter().map(|s| (s[i] - mean).powi(2)).sum::<f64>() / 400.0).sqrt())
        };
        let near = |(mean, sd): (f64, f64), (m, s): (f64, f64), by: f64| {
            (mean - m).abs() < by && (sd - s).abs() < by
        };
        // Even: mean in the middle, standard deviation width / sqrt 12.
        assert!(near(moments(0), (0.3, 0.1 / 12_f64.sqrt()), 0.01), "{:?}", moments(0));
        assert!(near(moments(1), (0.5, 1.0 / 12_f64.sqrt()), 0.06), "{:?}", moments(1));
        let mut again = Population::default();
        while !again.done {
            again.next(2, 3, 10_000, &distance).unwrap();
        }
        assert_eq!(again, p, "the same seed, the same population");
    }

    /// Two unknowns of which only the sum is known: the population lies along a line.
    #[test]
    fn a_population_follows_what_goes_together() {
        let mut p = Population::default();
        let distance = |shares: &[f64], _: u64| Ok::<_, ()>((shares[0] + shares[1] - 1.0).abs() / 0.01);
        while !p.done {
            p.next(2, 3, 20_000, &distance).unwrap();
        }
        assert!(p.distance() <= 1.0 && p.draws < 3000, "{} after {}", p.distance(), p.draws);
        let samples = p.samples(400, 1);
        let mut first: Vec<f64> = samples.iter().map(|s| s[0]).collect();
        first.sort_by(f64::total_cmp);
        // Even from 0 to 1.
        for (i, share) in [(40, 0.1), (200, 0.5), (360, 0.9)] {
            assert!((first[i] - share).abs() < 0.1, "{i}: {}", first[i]);
        }
    }

    #[test]
    fn a_goal_that_cannot_be_met_ends_as_near_as_can_be() {
        let mut p = Population::default();
        while !p.done {
            p.next(1, 3, 5_000, &|shares, _| Ok::<_, ()>(2.0 + shares[0])).unwrap();
        }
        assert!((2.0..2.1).contains(&p.distance()), "{}", p.distance());
    }

    /// So many unknowns that go together, and so narrowly, that steps from all over the ranges do not get there.
    #[test]
    fn searches_find_what_the_population_by_itself_does_not() {
        let distance = |s: &[f64], _: u64| {
            let pair = |p: &[f64]| (100.0 * (p[0] - p[1] - 0.1)).powi(2) + (p[0] + p[1] - 0.9).powi(2);
            Ok::<_, ()>(s.chunks(2).map(pair).sum::<f64>().sqrt() / 0.02)
        };
        let drawn = |interrupted: bool| {
            let mut p = Population::default();
            while !p.done {
                p.next(20, 3, 60_000, &distance).unwrap();
                if interrupted {
                    p = serde_json::from_str(&serde_json::to_string(&p).unwrap()).unwrap();
                }
            }
            p
        };
        let p = drawn(false);
        assert_eq!(p.searches.len(), SEARCHES);
        assert!(p.distance() <= 1.0 && p.points.len() == POPULATION, "{}", p.distance());
        let samples = p.samples(48, 1);
        let mut others = samples.clone();
        others.sort_by(|a, b| a[0].total_cmp(&b[0]));
        others.dedup();
        assert!(others.len() >= 36, "only {} of 48 samples differ", others.len());
        assert_eq!(drawn(true), p, "an interruption changes nothing");
    }

    #[test]
    fn points_take_more_steps_where_fewer_are_accepted() {
        assert_eq!([1.0, 0.5, 0.1, 0.0].map(enough), [1, 4, 16, 16]);
    }

    #[test]
    fn samples_are_all_points_before_any_comes_again() {
        let points = (0..3).map(|i| Tried { shares: vec![f64::from(i)], distance: 0.0 }).collect();
        let p = Population { points, ..Population::default() };
        let mut samples = p.samples(6, 1);
        samples.sort_by(|a, b| a[0].total_cmp(&b[0]));
        assert_eq!(samples.concat(), [0.0, 0.0, 1.0, 1.0, 2.0, 2.0]);
        assert!(Population::default().samples(5, 1).is_empty());
    }
}
