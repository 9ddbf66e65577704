// SPDX-License-Identifier: GPL-2.0-only
//! What a reader of a mail needs who has never seen the tool: what the numbers are, on what they were found, what was assumed.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_corpus::Basis;
use idlewise_recording::trace_head::InputHead;
use idlewise_report::{Format, Line};
use idlewise_review::{RecordingHead, ReviewReport};

/// What each column is, in a line each.
const COLUMNS: [&str; 13] = [
    "energy: of idle periods, and of the idle loop around them; a model",
    "latency: from a wake event until the CPU has left its idle state, mean",
    "p99: the 99th percentile of that latency",
    "too deep: idle periods shorter than their state's target residency",
    "too shallow: idle periods that were long enough for a deeper enabled state",
    "units: % of the value before; of too deep and too shallow percentage points",
    "(pp) of all wakeups",
    "(a to b): the 95 % interval, the wider of machines and of loads drawn anew",
    "~: it holds 0, so nothing is shown",
    "not worse by 1 %: a test of its own, one-sided at 5 %, whose end follows",
    "9:32:9: recordings in which the number fell, stayed the same, rose",
    "of twenty numbers of which nothing is true one is shown by chance",
    "rel: energy, in the shallowest sleeping state's power times a second",
];
/// Machines, and kernels, that a line names.
const MACHINES: usize = 6;
const KERNELS: usize = 3;

/// Whether a result in this form is sent to others, who have nothing else of it.
pub(crate) fn stands_alone(format: Format) -> bool {
    matches!(format, Format::Mail | Format::Markdown)
}

/// The lines; nothing where nothing was compared.
pub(crate) fn lines(r: &ReviewReport) -> Vec<Line> {
    if !r.governors.iter().any(|g| g.rows.iter().any(|row| row.against_base.is_some())) {
        return Vec::new();
    }
    let mut out: Vec<String> = vec![String::new(), "How to read this:".to_owned()];
    out.extend(COLUMNS.map(str::to_owned));
    let all = &r.on.recordings;
    out.extend(Basis::ALL.into_iter().map(Some).chain([None]).filter_map(|basis| {
        let of = all.iter().filter(|h| h.basis == basis);
        machines(basis, &of.map(|h| (h.machine.as_str(), h.kernel.as_deref())).collect::<Vec<_>>())
    }));
    out.extend(assumed(r));
    let simulated = r.governors.iter().any(|g| g.rows.iter().any(|row| !row.simulated.is_empty()));
    let is_model = |h: &RecordingHead| h.basis == Some(Basis::Model);
    let models = ["energy"]
        .into_iter()
        .chain(all.iter().any(is_model).then_some("the recordings called model"))
        .chain(simulated.then_some("what is called simulated"));
    let models: Vec<&str> = models.collect();
    out.push(format!("models: {}; choices are the series' own code, run on these inputs", models.join(", ")));
    out.iter().map(Line::plain).collect()
}

/// `emulated, recordings by machine: rk3399 9, juno 8 (Linux 6.12.117)`: `of` are the machine and the kernel of each recording.
fn machines(basis: Option<Basis>, of: &[(&str, Option<&str>)]) -> Option<String> {
    let mut machines: BTreeMap<&str, usize> = BTreeMap::new();
    of.iter().for_each(|(machine, _)| *machines.entry(machine).or_default() += 1);
    let mut counts: Vec<(&str, usize)> = machines.into_iter().collect();
    counts.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let mut named: Vec<String> =
        counts.iter().take(MACHINES).map(|(name, n)| format!("{name} {n}")).collect();
    match counts.get(MACHINES..).unwrap_or_default() {
        [] => {}
        [(name, n)] => named.push(format!("{name} {n}")),
        rest => {
            let n: usize = rest.iter().map(|(_, n)| n).sum();
            named.push(format!("{} more machines {n}", rest.len()));
        }
    }
    let what = match basis {
        Some(Basis::Measured) => "measured, recordings",
        Some(Basis::Emulated) => "emulated, recordings",
        Some(Basis::Model) => "model, simulated recordings",
        None => "recordings",
    };
    let kernels: BTreeSet<&str> = of.iter().filter_map(|(_, kernel)| *kernel).collect();
    let unknown = of.iter().filter(|(_, kernel)| kernel.is_none()).count();
    let mut names: Vec<&str> = kernels.iter().take(KERNELS).copied().collect();
    let more = format!("{} more", kernels.len().saturating_sub(KERNELS));
    names.extend((kernels.len() > KERNELS).then_some(more.as_str()));
    let of_whom = if basis == Some(Basis::Model) { "as Linux" } else { "Linux" };
    let kernel = match (names.is_empty(), unknown) {
        (true, _) => "kernel not known".to_owned(),
        (false, 0) => format!("{of_whom} {}", names.join(", ")),
        (false, n) => format!("{of_whom} {}; of {n} not known", names.join(", ")),
    };
    (!of.is_empty()).then(|| format!("{what} by machine: {} ({kernel})", named.join(", ")))
}

/// What the recordings do not say, and is taken for true.
fn assumed(r: &ReviewReport) -> Vec<String> {
    let all = &r.on.recordings;
    let inputs = |name: &'static str| {
        all.iter().filter_map(move |h| h.head.inputs.iter().find(|input| input.name == name))
    };
    let is_assumed = |input: &&InputHead| input.assumed > 0;
    let mut out = Vec::new();
    let limits = inputs("latency limit").filter(is_assumed).count();
    if limits > 0 {
        out.push(format!("assumed: no latency limit, in {limits} of {} recordings", all.len()));
    }
    let mut scales: Vec<(&str, usize)> = Vec::new();
    for input in inputs("utilisation") {
        // "...; speed: capacity; ...": the clause is the tape's.
        let scale = input.how.split("; ").find_map(|part| part.strip_prefix("speed: "));
        let scale = scale.unwrap_or(&input.how);
        match scales.iter_mut().find(|(known, _)| *known == scale) {
            Some((_, n)) => *n += 1,
            None => scales.push((scale, 1)),
        }
    }
    let scales: Vec<String> = match scales.as_slice() {
        [(scale, _)] => vec![(*scale).to_owned()],
        several => several.iter().map(|(scale, n)| format!("{scale} ({n} recordings)")).collect(),
    };
    if !scales.is_empty() {
        out.push(format!("utilisation: PELT of what ran, speed by {}", scales.join("; ")));
    }
    let whose = match &r.request.platform {
        Some(platform) => format!("those of {platform} for all recordings, by its platform file"),
        None => "those of a platform file for each machine".to_owned(),
    };
    out.push(format!("idle states, disabled ones too: {whose}"));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_explanation_is_a_line_of_a_mail() {
        assert!(COLUMNS.iter().all(|line| line.len() <= 76), "{COLUMNS:?}");
    }

    #[test]
    fn machines_with_most_recordings_are_named_and_the_others_counted() {
        let mut of = vec![("rk3399", Some("6.12")), ("juno", None), ("rk3399", Some("6.18"))];
        assert_eq!(
            machines(Some(Basis::Measured), &of).unwrap(),
            "measured, recordings by machine: rk3399 2, juno 1 (Linux 6.12, 6.18; of 1 not known)"
        );
        of.extend(["a", "b", "c", "d", "e", "f"].map(|name| (name, Some("6.1"))));
        assert_eq!(
            machines(Some(Basis::Model), &of).unwrap(),
            "model, simulated recordings by machine: rk3399 2, a 1, b 1, c 1, d 1, e 1, 2 more machines 2 (as Linux 6.1, 6.12, \
             6.18; of 1 not known)"
        );
        of.extend([("x", Some("6.6")), ("y", Some("7.0"))]);
        let many = machines(None, &of).unwrap();
        assert!(
            many.ends_with("e 1, 4 more machines 4 (Linux 6.1, 6.12, 6.18, 2 more; of 1 not known)"),
            "{many}"
        );
        assert_eq!(machines(Some(Basis::Emulated), &[]), None);
    }
}
