// SPDX-License-Identifier: GPL-2.0-only
//! A sweep: every setting with its values and its changes.

use std::collections::BTreeSet;

use idlewise_chart::{Hash, Kind, PageData, Table};
use idlewise_score::{Measure, Unit};
use idlewise_sweep::{SettingResult, SweepReport, measures};

use crate::{Source, source_hashes};

/// A page shows the front and so many other settings, at even distances.
const MOST: usize = 1500;

/// The page of a sweep.
#[must_use]
pub fn sweep(r: &SweepReport, of: Source<'_>) -> PageData {
    let names: BTreeSet<&str> = r.governors.iter().map(|g| g.governor.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    // As everywhere, without the baseline.
    let settings_of_governors: u64 = r.governors.iter().map(|g| g.settings).sum();
    let plural = if settings_of_governors == 1 { "" } else { "s" };
    let title = format!("{}, {settings_of_governors} setting{plural}", names.join(", "));
    let mut out = of.page(Kind::Sweep, &title);
    out.hashes = sweep_hashes(r);
    let shown = shown(r);
    if shown.len() < r.settings.len() {
        out.sampled.push(format!(
            "To keep this page small, its pictures show {} of {} settings (the baseline is one): those of the front, and others at even distances.",
            shown.len(),
            r.settings.len()
        ));
    }
    out.tables.push(settings(r, &shown));
    out.tables.push(values(r, &shown));
    out
}

/// The inputs of a sweep.
#[must_use]
pub fn sweep_hashes(r: &SweepReport) -> Vec<Hash> {
    let mut seen = BTreeSet::new();
    let inputs = r.cases.iter().filter(|c| seen.insert(c.facts.hash.clone()));
    let inputs = inputs.map(|c| Hash { name: c.name.clone(), hash: c.facts.hash.clone() });
    inputs.chain(source_hashes(&r.foreign)).collect()
}

fn shown(r: &SweepReport) -> Vec<usize> {
    let (front, others): (Vec<usize>, Vec<usize>) =
        (0..r.settings.len()).partition(|n| *n == 0 || r.settings[*n].on_front);
    let step = others.len().div_ceil(MOST).max(1);
    let mut all: Vec<usize> = front.into_iter().chain(others.into_iter().step_by(step)).collect();
    all.sort_unstable();
    all
}

fn settings(r: &SweepReport, shown: &[usize]) -> Table {
    let mut t = Table::of_charts("swept_settings");
    let all = measures(!r.request.workloads.is_empty());
    for &n in shown {
        let s = &r.settings[n];
        for m in &all {
            let place = r.front.iter().position(|name| *name == m.name).map_or(0, |at| at as u64 + 1);
            t.rows.push(vec![
                s.setting.as_str().into(),
                s.governor.as_str().into(),
                if n == 0 { "baseline" } else { "governor" }.into(),
                if s.on_front { "yes" } else { "no" }.into(),
                m.name.into(),
                label(m).into(),
                if m.unit == Unit::Share { "pp" } else { "%" }.into(),
                s.change(m).into(),
                place.into(),
            ]);
        }
    }
    t
}

fn label(m: &Measure) -> &str {
    m.label.trim_end_matches(" %")
}

fn values(r: &SweepReport, shown: &[usize]) -> Table {
    let mut t = Table::of_charts("setting_values");
    for &n in shown.iter().filter(|n| **n != 0) {
        let s = &r.settings[n];
        let Some(governor) = r.governors.iter().find(|g| g.governor == s.governor) else { continue };
        for axis in &governor.parameters {
            let Some(value) = s.parameters.get(&axis.parameter) else { continue };
            t.rows.push(vec![
                s.setting.as_str().into(),
                s.governor.as_str().into(),
                axis.parameter.as_str().into(),
                value.as_str().into(),
                order(r, s, &axis.parameter, value).into(),
            ]);
        }
    }
    t
}

/// Where a value stands on its axis: a number at itself, a word in the order of the words.
fn order(r: &SweepReport, s: &SettingResult, parameter: &str, value: &str) -> f64 {
    if let Ok(number) = value.parse::<f64>() {
        return number;
    }
    let of_same = r.settings.iter().filter(|other| other.governor == s.governor);
    let words: BTreeSet<&str> =
        of_same.filter_map(|other| other.parameters.get(parameter)).map(String::as_str).collect();
    let Some(at) = words.iter().position(|word| *word == value) else {
        unreachable!("{value} is a value of {parameter}")
    };
    at as f64
}
