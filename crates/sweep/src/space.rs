// SPDX-License-Identifier: GPL-2.0-only
//! A governor with the values that its parameters take, checked before anything runs.

use std::path::PathBuf;

use idlewise_governor::{Governor, Spec};
use idlewise_idle::Limits;
use idlewise_model::TickGrid;
use idlewise_recording::candidate::{Bound, Candidate, ORACLE};
use idlewise_recording::{CommandError, governors, limits};

use crate::axis::Axis;
use crate::key::Key;
use crate::sample::{Draw, sample};

/// Values of a range that are all tried before anything runs; of a longer one its ends.
const TRIED_VALUES: u64 = 1000;

/// A governor, and the values of its parameters.
#[derive(Clone)]
pub(crate) struct Space {
    pub(crate) governor: Governor,
    /// What it is called, without parameters.
    pub(crate) name: String,
    pub(crate) axes: Vec<Axis>,
    /// How many settings are run.
    pub(crate) len: u64,
    /// Their values, where they were drawn.
    drawn: Option<Vec<Vec<u64>>>,
    /// Of its compiled code.
    pub(crate) object: u128,
}

/// A governor under one setting of its parameters.
#[derive(Clone)]
pub(crate) struct Variant {
    pub(crate) candidate: Candidate,
    /// What the governor is called without parameters.
    pub(crate) governor: String,
    pub(crate) values: Vec<(String, String)>,
    /// What tells it from every other: of the compiled code and the values, whatever they are called and in whatever order they stand.
    pub(crate) key: Key,
}

/// What stands before the values of the parameters, and these, where there are any: a `/` in a range is not one of a path.
pub(crate) fn parted(text: &str) -> (&str, Option<&str>) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = |at: &usize| {
        let rest = &text[at + 1..];
        let name = rest.trim_start().trim_start_matches(is_name);
        name.len() < rest.trim_start().len() && name.trim_start().starts_with('=')
    };
    match text.match_indices(':').map(|(at, _)| at).find(begins) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    }
}

impl Space {
    /// The governors of `text`: several where it names a kernel tree. Each of their values was tried.
    ///
    /// # Errors
    /// [`CommandError::Argument`] with the word at fault, [`CommandError::Governor`] where a governor is not there or refuses a value.
    pub(crate) fn all_of(
        text: &str,
        trees: &[PathBuf],
        draw: Option<Draw>,
    ) -> Result<Vec<Self>, CommandError> {
        let (head, values) = parted(text);
        let axes = axes(values).map_err(|why| CommandError::argument("--governor", text, why))?;
        let heads = governors::with_trees(&[head.to_owned()])?;
        let mut out = Vec::new();
        for candidate in governors::candidates(&heads, trees)? {
            let Candidate::Hosted { governor, name, .. } = candidate else { continue };
            let space = Self::new(governor, name, axes.clone(), draw, text)?;
            space.check()?;
            out.push(space);
        }
        Ok(out)
    }

    /// Of a governor and values of its parameters; an option says so by `text`.
    ///
    /// # Errors
    /// [`CommandError`] where they are too many, or the governor cannot be had.
    pub(crate) fn new(
        governor: Governor,
        name: String,
        axes: Vec<Axis>,
        draw: Option<Draw>,
        text: &str,
    ) -> Result<Self, CommandError> {
        let lens: Vec<u64> = axes.iter().map(Axis::counted).collect();
        let all = lens.iter().try_fold(1_u64, |product, len| product.checked_mul(*len));
        // Of no more settings than are to be drawn, all are run.
        let drawn = draw.filter(|draw| all.is_none_or(|all| all > draw.n)).map(|draw| sample(&lens, draw));
        let len = drawn.as_ref().map(|drawn| drawn.len() as u64).or(all).ok_or_else(|| {
            let why = "more settings than can be counted; draw some with --sample";
            CommandError::argument("--governor", text, why)
        })?;
        let object = governor.object_hash()?;
        Ok(Self { governor, name, axes, len, drawn, object })
    }

    /// Loads the governor with values of each parameter, the others at their defaults.
    fn check(&self) -> Result<(), CommandError> {
        let mut tried = Vec::new();
        for axis in &self.axes {
            for value in axis.some(TRIED_VALUES) {
                tried.push(self.set(vec![(axis.parameter.clone(), value)])?.0);
            }
        }
        self.governor.run(|loader| {
            tried
                .iter()
                .try_for_each(|governor| loader.of(governor).load(TickGrid::period_of(1000)).map(drop))
        })?;
        Ok(())
    }

    /// The governor with these parameters set, and what is taken from it.
    fn set(&self, values: Vec<(String, String)>) -> Result<(Governor, Limits), CommandError> {
        if values.is_empty() {
            return Ok((self.governor.clone(), Limits::NONE));
        }
        // The words for limits are no parameters of the governor.
        let own = Spec { id: "governor".to_owned(), params: values };
        let (rest, limits) = limits::split(&own.to_string())?;
        Ok((self.governor.with_params(rest.parse::<Spec>()?.params), limits))
    }

    /// With its parameters as they are by default.
    pub(crate) fn default_variant(&self) -> Variant {
        let (governor, name) = (self.governor.clone(), self.name.clone());
        let candidate = Candidate::Hosted { governor, name, limits: Limits::NONE };
        Variant { candidate, governor: self.name.clone(), values: Vec::new(), key: self.key(&[]) }
    }

    /// With value number `picks` of each parameter.
    pub(crate) fn variant(&self, picks: &[u64]) -> Result<Variant, CommandError> {
        let value = |(axis, pick): (&Axis, &u64)| (axis.parameter.clone(), axis.value(*pick));
        self.with_values(self.axes.iter().zip(picks).map(value).collect())
    }

    /// With these values of parameters.
    pub(crate) fn with_values(&self, values: Vec<(String, String)>) -> Result<Variant, CommandError> {
        let (governor, limits) = self.set(values.clone())?;
        let name = Spec { id: self.name.clone(), params: values.clone() }.to_string();
        let key = self.key(&values);
        let candidate = Candidate::Hosted { governor, name, limits };
        Ok(Variant { candidate, governor: self.name.clone(), values, key })
    }

    fn key(&self, values: &[(String, String)]) -> Key {
        let mut sorted = values.to_vec();
        sorted.sort();
        Key::of(&("governor", self.object, sorted))
    }

    /// The values of setting number `n`; where all are run those of the last parameter change first.
    pub(crate) fn picks(&self, n: u64) -> Vec<u64> {
        assert!(n < self.len, "setting {n} of {}", self.len);
        if let Some(drawn) = &self.drawn {
            return drawn[n as usize].clone();
        }
        let mut rest = n;
        let mut picks: Vec<u64> = Vec::new();
        for axis in self.axes.iter().rev() {
            picks.push(rest % axis.counted());
            rest /= axis.counted();
        }
        picks.reverse();
        picks
    }
}

/// `NAME=VALUES` once or more, with commas between.
fn axes(list: Option<&str>) -> Result<Vec<Axis>, String> {
    let mut out: Vec<Axis> = Vec::new();
    for item in list.into_iter().flat_map(|list| list.split(',')) {
        let (name, values) = item.split_once('=').ok_or_else(|| format!("`{item}`: expected NAME=VALUES"))?;
        let axis = Axis::parse(name.trim(), values.trim())?;
        if out.iter().any(|other| other.parameter == axis.parameter) {
            return Err(format!("{} is named twice; join its values by |", axis.parameter));
        }
        out.push(axis);
    }
    Ok(out)
}

impl Variant {
    /// The bound that knows when each idle period ends.
    pub(crate) fn oracle() -> Self {
        let (governor, key) = (ORACLE.to_owned(), Key::of(&ORACLE));
        Self { candidate: Candidate::Bound(Bound::Oracle), governor, values: Vec::new(), key }
    }

    /// What it is called, with its parameters.
    pub(crate) fn name(&self) -> &str {
        self.candidate.name()
    }
}
