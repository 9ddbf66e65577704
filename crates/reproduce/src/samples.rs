// SPDX-License-Identifier: GPL-2.0-only
//! Files with samples of the unknowns: `experiments/samples/ID.toml`, or `FILE.samples.toml` next to an experiment of the user's.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use idlewise_experiment::ExperimentError;
use idlewise_files::new_file::write_new;
use idlewise_recording::CommandError;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use xxhash_rust::xxh3::xxh3_64;

use crate::experiment::{DRAWS, Experiment};
use crate::sampling::{Population, distance, fitted};
use crate::unknown::{Point, Setting};

const SHIPPED: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/samples.rs"));

/// Samples that are drawn where nothing else is said.
pub const SAMPLES: usize = 48;

/// Seeds of graded runs begin here, far from those of fitted ones.
const GRADED: u64 = 1_000_001;

/// More samples than this share in the outer hundredth of a range show that it is too narrow.
const MOST_AT_AN_END: f64 = 0.2;

/// Why an interrupted drawing's file is not gone on with.
const OTHER: &str = "what an interrupted drawing found, with other options or damaged: repeat its options to go \
    on with it, or remove it to begin anew";

/// Settings of the unknowns that meet the baseline's published numbers within their noise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Samples {
    pub experiment: String,
    /// The version of idlewise that drew them.
    pub version: String,
    /// XXH3 of what they depend on: the model, the unknowns, the baseline's numbers.
    pub hash: String,
    /// That the drawing began with.
    pub seed: u64,
    /// Points that were to be tried at most.
    pub most: u64,
    /// Points that were tried.
    pub draws: u64,
    /// The baseline's fitted numbers in the middle of all ranges: others show that the model has changed since.
    pub middle: Vec<f64>,
    /// How far the baseline's numbers are off at the worst of the points they were drawn from, in multiples of their noise (root
    /// mean square): up to 1 they are met.
    pub distance: f64,
    pub unknowns: Vec<String>,
    /// One setting for each unknown.
    pub samples: Vec<Vec<Setting>>,
}

/// What an interrupted drawing leaves.
#[derive(Debug, Serialize, Deserialize)]
struct Partial {
    /// Experiment and drawing that it is of.
    of: String,
    population: Population,
}

/// How to draw samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawing {
    pub seed: u64,
    /// How many samples there shall be.
    pub samples: usize,
    /// Points to try at most.
    pub draws: u64,
}

impl Default for Drawing {
    fn default() -> Self {
        Self { seed: 1, samples: SAMPLES, draws: DRAWS }
    }
}

impl Drawing {
    /// This, with as many points at most as `e` needs where nothing else was said.
    #[must_use]
    pub fn of(self, e: &Experiment, draws: Option<u64>) -> Self {
        let own = e.fit.as_ref().map_or(DRAWS, |fit| fit.draws);
        Self { draws: draws.unwrap_or(own), ..self }
    }
}

impl Experiment {
    /// What samples of the unknowns depend on.
    fn sampled_hash(&self) -> String {
        let fit = self.fit.as_ref();
        let rows = self.row.iter().filter(|r| fit.is_some_and(|f| f.rows.contains(&r.name)));
        let baseline = self.baseline();
        let rows = rows.zip(std::iter::repeat(baseline)).filter_map(|(r, b)| Some((r, b?)));
        let on: Vec<Value> = rows
            .map(|(r, b)| {
                let published = r.published.get(&b.name);
                json!([r.fact, r.factor, r.offset, r.setup, r.parameters, published, self.noise(r, b).value])
            })
            .collect();
        let column = baseline.map(|b| (&b.about, &b.setup));
        let all = json!([self.repeat, self.setup, self.parameters, self.unknown, column, on]);
        format!("{:016x}", xxh3_64(all.to_string().as_bytes()))
    }

    /// The points at which an experiment is graded: of its samples or, without unknowns, `count` seeds.
    pub(crate) fn points(&self, samples: Option<&Samples>, count: usize) -> Vec<Point> {
        let settings = |values: &Vec<Setting>| {
            self.unknown.iter().map(|u| u.name.clone()).zip(values.iter().cloned()).collect()
        };
        match samples {
            Some(s) => {
                (GRADED..).zip(&s.samples).map(|(seed, v)| Point { settings: settings(v), seed }).collect()
            }
            None => (GRADED..).take(count).map(|seed| Point { seed, ..Point::default() }).collect(),
        }
    }
}

impl Samples {
    /// The samples of a shipped experiment, or those next to the file at `path`; `None` where nothing is unknown.
    ///
    /// # Errors
    /// [`CommandError::File`] where they are missing, cannot be read, or are of another experiment; before that what is wrong with the
    /// experiment itself.
    pub(crate) fn find(e: &Experiment, path: Option<&Path>) -> Result<Option<Self>, ExperimentError> {
        if e.unknown.is_empty() {
            return Ok(None);
        }
        let (name, text) = match path {
            Some(path) => {
                let file = next_to(path);
                let missing = |why: std::io::Error| CommandError::File {
                    path: file.display().to_string(),
                    why: format!(
                        "{why}; the samples of {} are drawn with: idlewise reproduce {} --draw",
                        e.id,
                        path.display()
                    ),
                };
                (file.display().to_string(), idlewise_files::read_to_string(&file).map_err(missing)?)
            }
            None => {
                let name = format!("experiments/samples/{}.toml", e.id);
                let Some((_, text)) = SHIPPED.iter().find(|(id, _)| *id == e.id) else {
                    return Err(
                        CommandError::File { path: name, why: "no samples were drawn".to_owned() }.into()
                    );
                };
                (name, (*text).to_owned())
            }
        };
        let wrong = |why: String| CommandError::File { path: name.clone(), why };
        let samples: Self = toml::from_str(&text).map_err(|e| wrong(e.to_string().trim_end().to_owned()))?;
        if samples.hash != e.sampled_hash() {
            fitted(e, &e.point(0.5))?;
        }
        samples.check(e, path).map_err(wrong)?;
        Ok(Some(samples))
    }

    fn check(&self, e: &Experiment, path: Option<&Path>) -> Result<(), String> {
        let name = path.map_or_else(|| e.id.clone(), |path| path.display().to_string());
        let again = format!("draw them again: idlewise reproduce {name} --draw --force");
        if self.experiment != e.id {
            return Err(format!("samples of {}, not of {}", self.experiment, e.id));
        }
        if self.hash != e.sampled_hash() {
            return Err(format!("the experiment has changed since its samples were drawn; {again}"));
        }
        if !e.unknown.iter().map(|u| &u.name).eq(&self.unknowns) {
            let names: Vec<&str> = e.unknown.iter().map(|u| u.name.as_str()).collect();
            return Err(format!("unknowns: expected {}; {again}", names.join(", ")));
        }
        if self.samples.is_empty() || self.samples.iter().any(|s| s.len() != e.unknown.len()) {
            return Err(format!("expected samples of {} settings each; {again}", e.unknown.len()));
        }
        for (n, sample) in self.samples.iter().enumerate() {
            if let Some((u, s)) = e.unknown.iter().zip(sample).find(|(u, s)| !u.has(s)) {
                return Err(format!("sample {}: {} = {s}, which it cannot be; {again}", n + 1, u.name));
            }
        }
        if !(self.distance.is_finite() && self.distance >= 0.0 && self.draws > 0) {
            let (distance, draws) = (self.distance, self.draws);
            return Err(format!("no drawing ends with distance = {distance}, draws = {draws}; {again}"));
        }
        Ok(())
    }

    /// Whether the model has changed since they were drawn: its numbers in the middle of all ranges are others now.
    pub(crate) fn is_outdated(&self, e: &Experiment) -> Result<bool, ExperimentError> {
        Ok(self.middle != fitted(e, &e.point(0.5))?)
    }

    /// Whether the file at `path` has what [`Samples::draw_to`] would write there.
    ///
    /// # Errors
    /// [`ExperimentError`] where a set-up makes no sense.
    pub fn are_there(e: &Experiment, how: Drawing, path: &Path) -> Result<bool, ExperimentError> {
        let Ok(text) = idlewise_files::read_to_string(path) else { return Ok(false) };
        let Ok(found) = toml::from_str::<Self>(&text) else { return Ok(false) };
        let drawn = (found.seed, found.most, found.samples.len());
        let same = found.check(e, None).is_ok() && drawn == (how.seed, how.draws, how.samples);
        Ok(same && !found.is_outdated(e)?)
    }

    /// Draws samples into the file at `path`. What an interrupted drawing of the same had found is taken up; it lies in the file of
    /// that name with `.partial` until the samples are there. Of an experiment that has changed since it is replaced. `progress` hears of the points that were tried and of how many at most.
    ///
    /// # Errors
    /// As [`Samples::draw`], and [`CommandError::File`] where a file cannot be read or written.
    pub fn draw_to(
        e: &Experiment,
        how: Drawing,
        path: &Path,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Self, ExperimentError> {
        let file = PathBuf::from(format!("{}.partial", path.display()));
        let hash = e.sampled_hash();
        let of = format!("{hash} {how:?}");
        let population = match idlewise_files::read_to_string(&file) {
            Ok(text) => {
                let found: Partial =
                    serde_json::from_str(&text).map_err(|_| CommandError::file(&file, OTHER))?;
                if found.of == of && found.population.fits(e.unknown.len(), how.draws) {
                    found.population
                } else if found.of.starts_with(&hash) {
                    return Err(CommandError::file(&file, OTHER).into());
                } else {
                    // The experiment has changed since: nothing of it helps.
                    Population::default()
                }
            }
            Err(_) => Population::default(),
        };
        let keep = |population: &Population| -> Result<(), ExperimentError> {
            let partial = Partial { of: of.clone(), population: population.clone() };
            let text = serde_json::to_string(&partial).map_err(|e| CommandError::file(&file, e))?;
            Ok(write_new(&file, text.as_bytes(), true).map_err(|e| CommandError::file(&file, e))?)
        };
        let samples = Self::draw(e, how, population, &keep, progress)?;
        write_new(path, samples.to_toml().as_bytes(), true).map_err(|e| CommandError::file(path, e))?;
        std::fs::remove_file(&file).map_err(|e| CommandError::file(&file, e))?;
        Ok(samples)
    }

    /// Draws samples. `population` is what an interrupted drawing had; `keep` hears of it after each generation, `progress` of the
    /// points that were tried and of how many at most.
    ///
    /// # Errors
    /// [`ExperimentError`] where a set-up makes no sense, or samples gather at the end of a range; what `keep` says.
    pub fn draw(
        e: &Experiment,
        how: Drawing,
        mut population: Population,
        keep: &dyn Fn(&Population) -> Result<(), ExperimentError>,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Self, ExperimentError> {
        let distance = |shares: &[f64], seed: u64| distance(e, &e.point_at(shares, seed));
        while !population.done {
            progress(population.draws as usize, how.draws as usize);
            population.next(e.unknown.len(), how.seed, how.draws, &distance)?;
            keep(&population)?;
        }
        let shares = population.samples(how.samples, how.seed);
        at_an_end(e, &shares).map_or(Ok(()), |why| Err(ExperimentError::Run(why)))?;
        let settings = |s: &Vec<f64>| e.unknown.iter().zip(s).map(|(u, s)| u.at(*s)).collect();
        Ok(Self {
            experiment: e.id.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            hash: e.sampled_hash(),
            seed: how.seed,
            most: how.draws,
            draws: population.draws,
            middle: fitted(e, &e.point(0.5))?,
            distance: population.distance(),
            unknowns: e.unknown.iter().map(|u| u.name.clone()).collect(),
            samples: shares.iter().map(settings).collect(),
        })
    }

    /// These samples as the text of such a file.
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = format!(
            "# SPDX-License-Identifier: GPL-2.0-only\n# Drawn by idlewise reproduce --draw\nexperiment = {:?}\nversion = {:?}\nhash = {:?}\nseed = {}\nmost = {}\ndraws = {}\nmiddle = {:?}\ndistance = {:?}\nunknowns = {:?}\nsamples = [\n",
            self.experiment,
            self.version,
            self.hash,
            self.seed,
            self.most,
            self.draws,
            self.middle,
            self.distance,
            self.unknowns
        );
        for sample in &self.samples {
            let words: Vec<String> = sample
                .iter()
                .map(|s| match s {
                    Setting::Number(n) => format!("{n:?}"),
                    Setting::Word(w) => format!("{w:?}"),
                })
                .collect();
            let _ = writeln!(out, "    [{}],", words.join(", "));
        }
        out += "]\n";
        out
    }
}

/// Where the samples of the experiment in the file at `path` are.
#[must_use]
pub fn next_to(path: &Path) -> PathBuf {
    if path.extension().is_some_and(|e| e == "toml") {
        return path.with_extension("samples.toml");
    }
    let mut whole = path.as_os_str().to_owned();
    whole.push(".samples.toml");
    whole.into()
}

/// The first unknown whose samples gather at an end of its range that they could pass.
fn at_an_end(e: &Experiment, samples: &[Vec<f64>]) -> Option<String> {
    let share = |i: usize, at: fn(f64) -> bool| {
        samples.iter().filter(|s| s.get(i).copied().is_some_and(at)).count() as f64
            / samples.len().max(1) as f64
    };
    e.unknown.iter().enumerate().filter(|(_, u)| u.end.is_none()).find_map(|(i, u)| {
        let [from, to] = u.range?;
        let end = if share(i, |s| s < 0.01) > MOST_AT_AN_END {
            from
        } else if share(i, |s| s > 0.99) > MOST_AT_AN_END {
            to
        } else {
            return None;
        };
        Some(format!(
            "{}: samples of {} gather at {end}, an end of its range: widen it, or say in `end` why nothing lies beyond",
            e.id, u.name
        ))
    })
}
