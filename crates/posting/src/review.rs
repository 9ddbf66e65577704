// SPDX-License-Identifier: GPL-2.0-only
//! A series, patch by patch: a row for the base and one after each patch, then what each patch changes.

use idlewise_corpus::Basis;
use idlewise_explain::{Explanation, InputValue, Unit};
use idlewise_report::{Format, Line, Report, Table, UNKNOWN, duration, number, percent};
use idlewise_review::{
    Against, BootedChange, Effect, ExplainedPeriod, GovernorReview, Moved, PatchHead, RecordingChange,
    ReviewReport, Row,
};

use crate::effects::{NOTHING, at_least, cell, counted, counts, mean, middle, name, signed, words};
use crate::{notes, reading};

/// Columns of the table, by the names of measures.
const COLUMNS: [&str; 5] = ["energy", "latency_mean", "latency_p99", "too_deep", "too_shallow"];
/// What is said of each patch, by the names of measures.
const SAID: [&str; 5] = COLUMNS;
/// What stands where runs are the same.
const SAME: &str = "same";
/// Files that a line names.
const FILES: usize = 3;

/// The table of each governor, then each patch with what it changes. `details` adds a table of all recordings; a form that is sent to
/// others says how to read it.
#[must_use]
pub fn review(r: &ReviewReport, details: bool, format: Format) -> Report {
    let mut out = Report { data: Some(idlewise_data::review(r)), label: Some(6), ..Report::default() };
    out.preamble.push(Line::plain(head(r)));
    out.preamble.extend(basis(r));
    out.preamble.extend(r.notes.iter().map(|note| Line::new("note", note)));
    for governor in &r.governors {
        out.tables.push(rows(governor, &r.patches));
        out.tables.extend(simulated(governor));
        out.tables.extend(booted(governor));
        if details {
            out.tables.extend(recordings(governor));
        }
    }
    for patch in &r.patches {
        out.footer.push(Line::new(&patch.row, title(patch)));
        out.footer.extend(about(r, patch).into_iter().map(|text| Line::new("", text)));
    }
    let failed = r.checks.iter().filter(|c| c.failed);
    for check in failed {
        let places: Vec<String> =
            check.measured.iter().filter(|m| m.holds).map(|m| format!("{}: {}", m.place, m.words)).collect();
        out.footer.push(Line::new("failed", format!("{}: {}", check.expression, places.join("; "))));
    }
    out.footer.extend(evidence(r, details));
    if reading::stands_alone(format) {
        out.footer.extend(reading::lines(r));
    }
    out.footer.extend(marks(r));
    out
}

fn head(r: &ReviewReport) -> String {
    let names: Vec<&str> = r.governors.iter().map(|g| g.governor.as_str()).collect();
    let what = if names.is_empty() { "no governor".to_owned() } else { names.join(", ") };
    let commit = r.base_commit.as_ref().map_or_else(String::new, |c| format!(" ({c})"));
    let patches = counted(r.patches.len(), "patch", "patches");
    let recordings = counted(r.on.recordings.len(), "recording", "recordings");
    let machines = counted(r.on.machines, "machine", "machines");
    let platform = r.request.platform.as_ref().map_or_else(String::new, |p| format!(" as if on {p}"));
    format!("{what} of {}{commit}, {patches}, on {recordings} of {machines}{platform}", r.base)
}

/// What of the recordings was measured, where a corpus says it.
fn basis(r: &ReviewReport) -> Option<Line> {
    let count = |basis: Option<Basis>| r.on.recordings.iter().filter(|h| h.basis == basis).count();
    let parts = [
        (count(Some(Basis::Measured)), "measured"),
        (count(Some(Basis::Emulated)), "of kernels on emulated machines"),
        (count(Some(Basis::Model)), "simulated"),
        (count(None), "of no corpus"),
    ];
    let words = parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    let is_known = r.on.recordings.iter().any(|h| h.basis.is_some());
    is_known.then(|| Line::plain(format!("recordings: {}", words.collect::<Vec<_>>().join(", "))))
}

fn title(patch: &PatchHead) -> String {
    let commit = patch.commit.as_ref().map_or_else(String::new, |c| format!("{c} "));
    format!("{commit}{}", patch.name)
}

/// A row for the base. After each patch the mean over all recordings, what their middle is and how many go which way, and the means of
/// those of each basis: so that a few that carry the mean are seen.
fn rows(governor: &GovernorReview, patches: &[PatchHead]) -> Table {
    let name = governor.governor.as_str();
    let head =
        [name, "recordings", "differ", "energy", "latency", "p99", "too deep", "too shallow", "blocks"];
    let mut t = Table::new("", head.map(str::to_owned).to_vec());
    t.text_columns = 2;
    for row in &governor.rows {
        let mut cells = vec![row.row.clone(), String::new()];
        if patches.iter().any(|patch| patch.row == row.row && patch.problem.is_some()) {
            t.rows.push(vec![format!("{} !", row.row), "not applied".to_owned()]);
            continue;
        }
        match (&row.same_as, &row.against_base, &row.problem) {
            (Some(same), ..) => cells.push(format!("as {same}")),
            (None, Some(against), problem) => {
                if problem.is_some() {
                    cells[0] += " !";
                }
                "mean".clone_into(&mut cells[1]);
                cells.push(format!("{}%", idlewise_report::share(against.differ_pct, 1)));
                cells.extend(of_measures(&against.effects, cell));
                cells.push(row.blocks_pct.map_or_else(|| "?".to_owned(), |pct| format!("{}%", signed(pct))));
            }
            (None, None, Some(_)) => cells.push("!".to_owned()),
            (None, None, None) => {
                cells.resize(head.len() - 1, String::new());
                cells.push(row.blocks.map_or_else(|| "?".to_owned(), |n| format!("{n:.1}")));
            }
        }
        t.rows.push(cells);
        let several = |a: &&Against| row.same_as.is_none() && a.differing > 0 && a.recordings > 1;
        if let Some(against) = row.against_base.as_ref().filter(several) {
            let mut more = |name: String, cells: Vec<String>| {
                t.rows.push([String::new(), name, String::new()].into_iter().chain(cells).collect());
            };
            more("median".to_owned(), of_measures(&against.effects, middle));
            more(COUNTS.to_owned(), of_measures(&against.effects, counts));
            for part in &against.by_basis {
                more(format!("{} {}", part.recordings, part.name()), of_measures(&part.effects, mean));
            }
        }
    }
    t.rows.iter_mut().for_each(|row| row.resize(head.len(), String::new()));
    t
}

/// What stands before numbers of recordings.
const COUNTS: &str = "fell:same:rose";

/// A cell for each measure of the table.
fn of_measures(effects: &[Effect], cell: fn(&Effect) -> String) -> Vec<String> {
    let of = |metric| effects.iter().find(|e| e.metric == metric).map_or_else(String::new, cell);
    COLUMNS.into_iter().map(of).collect()
}

/// Simulated workloads: a column after each patch.
fn simulated(governor: &GovernorReview) -> Option<Table> {
    let rows: Vec<&Row> = governor.rows.iter().filter(|row| row.against_base.is_some()).collect();
    let first = rows.first().filter(|row| !row.simulated.is_empty())?;
    let head = ["simulated".to_owned(), "number".to_owned()];
    let head = head.into_iter().chain(rows.iter().map(|row| row.row.clone())).collect();
    let mut t = Table::new("", head);
    t.text_columns = 2;
    for (i, of) in first.simulated.iter().enumerate() {
        let name = format!("{}, {}", of.workload, of.platform);
        let of_row = |row: &&Row| {
            row.simulated.get(i).map_or_else(String::new, |s| over_runs(s.change, s.half_width, "%"))
        };
        let cells: Vec<String> = rows.iter().map(of_row).collect();
        if cells.iter().all(|cell| cell == SAME || cell == NOTHING) {
            continue;
        }
        let number = of.number.split_once(": ").map_or(of.number.as_str(), |(_, name)| name);
        t.rows.push([name, number.to_owned()].into_iter().chain(cells).collect());
    }
    (!t.rows.is_empty()).then_some(t)
}

/// A column for each measure, as a real kernel with each version scored.
fn booted(governor: &GovernorReview) -> Option<Table> {
    let of = governor.booted.as_ref()?;
    let title = format!(
        "booted: {} on {}, {} runs of {} s, Linux {}",
        of.workload, of.platform, of.starts, of.seconds, of.kernel
    );
    let head = [governor.governor.as_str(), "energy", "latency", "p99", "too deep", "too shallow"];
    let mut t = Table::new(title, head.map(str::to_owned).to_vec());
    let mut add = |name: &str, booted: &BootedChange, is_base: bool| {
        let cell = |metric: &str| {
            let Some(n) = booted.numbers.iter().find(|n| n.metric == metric) else { return String::new() };
            match (is_base, n.base) {
                (false, _) => over_runs(n.change, n.half_width, n.unit),
                (true, Some(base)) => absolute(metric, base, &of.energy_unit),
                (true, None) => UNKNOWN.to_owned(),
            }
        };
        let mark = match (&booted.failure, booted.as_recorded) {
            (Some(_), _) => " !",
            (None, false) => " ?",
            (None, true) => "",
        };
        t.rows.push(std::iter::once(format!("{name}{mark}")).chain(COLUMNS.map(cell)).collect());
    };
    for row in &governor.rows {
        let Some(booted) = &row.booted else { continue };
        let is_base = row.against_base.is_none();
        add(&row.row, booted, is_base);
        if is_base {
            add(&format!("{} {AGAIN}", row.row), &of.again, false);
        }
    }
    Some(t)
}

/// What stands behind the base where it is booted in further starts.
const AGAIN: &str = "again";

/// A value of one of the columns' measures.
fn absolute(metric: &str, value: f64, energy_unit: &str) -> String {
    match metric {
        "energy" => format!("{} {energy_unit}", number(value)),
        "too_deep" | "too_shallow" => format!("{}%", percent(value)),
        _ => duration(value),
    }
}

/// A change over several runs with half the width of its interval.
fn over_runs(change: Option<f64>, half_width: Option<f64>, unit: &str) -> String {
    match (change, half_width) {
        (Some(0.0), _) => SAME.to_owned(),
        // Less than a ten-thousandth is no finding, however often the same is found.
        (Some(change), Some(_)) if change.abs() < 0.01 => NOTHING.to_owned(),
        (Some(change), Some(width)) if change.abs() > width => {
            at_least(change, unit, change - width, change + width)
        }
        (Some(_), Some(_)) => NOTHING.to_owned(),
        (Some(change), None) => format!("{}{unit} ?", signed(change)),
        (None, _) => "?".to_owned(),
    }
}

/// Every recording after each patch, against the base.
fn recordings(governor: &GovernorReview) -> Vec<Table> {
    let table = |row: &Row| {
        let against = row.against_base.as_ref().filter(|a| a.differing > 0)?;
        let title = format!("{} {} against {}", row.row, governor.governor, against.row);
        let head = ["recording", "differ", "energy", "latency", "p99", "too deep", "too shallow"];
        let mut t = Table::new(title, head.map(str::to_owned).to_vec());
        for on in &against.on {
            let differ = format!("{}%", percent(on.waits.differ_pct));
            let change = |metric: &str| {
                let change = on.changes.iter().find(|c| c.measure.name == metric);
                change.map_or_else(String::new, |c| c.relative_or_points())
            };
            let cells = [on.recording.clone(), differ].into_iter().chain(COLUMNS.map(change));
            t.rows.push(cells.collect());
        }
        Some(t)
    };
    governor.rows.iter().filter_map(table).collect()
}

/// What a patch changes, in sentences.
fn about(r: &ReviewReport, patch: &PatchHead) -> Vec<String> {
    let mut out = Vec::new();
    if let Some(problem) = &patch.problem {
        out.push(format!("{}; what follows is judged without it", problem.words("it", "")));
    }
    if !patch.not_judged.is_empty() {
        let shown: Vec<&str> = patch.not_judged.iter().take(FILES).map(String::as_str).collect();
        let more = patch.not_judged.len().saturating_sub(FILES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        out.push(format!("also changes {}{more}: not judged", shown.join(", ")));
    }
    let mut quiet = Vec::new();
    for governor in &r.governors {
        let Some(row) = governor.rows.iter().find(|row| row.row == patch.row) else { continue };
        if row.same_as.is_some() && row.problem.is_none() {
            quiet.push(governor.governor.as_str());
            continue;
        }
        out.extend(of_row(governor, row, r.governors.len() > 1));
    }
    if r.governors.is_empty()
        || (!quiet.is_empty() && quiet.len() == r.governors.len() && patch.problem.is_none())
    {
        out.push("changes the code of no governor".to_owned());
    }
    out
}

fn of_row(governor: &GovernorReview, row: &Row, several: bool) -> Vec<String> {
    let mut out = Vec::new();
    let name = if several { format!("{}: ", governor.governor) } else { String::new() };
    if let Some(problem) = &row.problem {
        out.push(problem.words("!", &governor.governor));
    }
    if let Some(against) = &row.against_above {
        out.push(format!("{name}{}", differences(against)));
        if against.differing > 0 {
            let said: Vec<String> = SAID
                .iter()
                .filter_map(|metric| against.effects.iter().find(|e| e.metric == *metric))
                .map(words)
                .collect();
            out.push(said.join("; "));
            out.extend(extremes(against));
        }
    }
    if let Some(check) = &row.check {
        for finding in &check.new {
            let place = finding.place.as_ref().map_or_else(String::new, |place| format!("{place}: "));
            out.push(format!("{name}check: NEW: {}: {place}{}", finding.property, finding.what));
        }
        let properties = |all: &[idlewise_review::Finding]| {
            let mut names: Vec<&str> = all.iter().map(|f| f.property).collect();
            names.dedup();
            names.join(", ")
        };
        if check.new.is_empty() && check.mended.is_empty() && row.against_above.is_some() {
            out.push(format!("{name}check: nothing new"));
        }
        if !check.mended.is_empty() {
            out.push(format!("{name}check: mended: {}", properties(&check.mended)));
        }
    }
    out.extend(row.periods.iter().map(|period| said(period, row)));
    out
}

/// `energy from -25 % (sim-skylake-sp-roaming) to +3.1 % (boot-juno-fio)`: the recordings that carry the means.
fn extremes(against: &Against) -> Option<String> {
    let of = |metric: &str| {
        let changes = against.on.iter().filter_map(|on| {
            let change = on.changes.iter().find(|c| c.measure.name == metric)?.change_pct?;
            Some((change, on.recording.as_str()))
        });
        let mut changes: Vec<(f64, &str)> = changes.collect();
        changes.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ((least, of_least), (most, of_most)) = (changes.first()?, changes.last()?);
        let named = |change: f64, recording: &str| format!("{} % ({recording})", signed(change));
        (least < most).then(|| {
            format!("{} from {} to {}", name(metric), named(*least, of_least), named(*most, of_most))
        })
    };
    let all: Vec<String> = ["energy", "latency_mean"].into_iter().filter_map(of).collect();
    (against.recordings > 1 && !all.is_empty()).then(|| all.join("; "))
}

/// `decisions differ from +1 in 14 of 50 recordings, most in mixed.dat (12.3 % of wake events)`
fn differences(against: &Against) -> String {
    let (row, n, all) = (&against.row, against.differing, against.recordings);
    if n == 0 {
        return format!("every decision is that of {row}, in {}", counted(all, "recording", "recordings"));
    }
    let most = against.on.iter().fold(None::<&RecordingChange>, |most, on| match most {
        Some(most) if most.waits.differ_pct >= on.waits.differ_pct => Some(most),
        _ => Some(on),
    });
    let most = most.map_or_else(String::new, |on| {
        format!(", most in {} ({} % of wake events)", on.recording, percent(on.waits.differ_pct))
    });
    format!("decisions differ from {row} in {n} of {}{most}", counted(all, "recording", "recordings"))
}

/// `mixed.dat, CPU 0, decision 6 at 4816.217 s, woken after 9.1 ms: +1 chose ...`
fn said(p: &ExplainedPeriod, row: &Row) -> String {
    let energy = format!("{}{} {}", if p.energy < 0.0 { "" } else { "+" }, number(p.energy), p.energy_unit);
    let later = if p.latency_ns < 0 { '-' } else { '+' };
    let latency = format!("{later}{}", duration(p.latency_ns.unsigned_abs() as f64));
    let inputs = ["sleep length", "latency limit", "utilisation"];
    let inputs: Vec<String> = inputs.into_iter().filter_map(|name| input(&p.after, name)).collect();
    format!(
        "{}, CPU {}, decision {} at {:.6} s, woken after {}: {} chose {}, {} {}; until then energy {energy}, latency {latency} ({} % of \
         the recording's {}, which changes by {} %); {}",
        p.recording,
        p.cpu,
        p.decisions[1],
        p.at_ns as f64 / 1e9,
        duration(p.idle_ns as f64),
        p.before.governor,
        choice(&p.before),
        row.row,
        choice(&p.after),
        percent(p.share_pct),
        match p.share_of {
            Moved::Energy => "energy",
            Moved::Latency => "latency",
        },
        signed(p.recording_pct),
        inputs.join(", ")
    )
}

fn choice(e: &Explanation) -> String {
    let state = usize::try_from(e.chosen.state).ok().and_then(|i| e.states.get(i));
    let name = state.map_or_else(|| e.chosen.state.to_string(), |s| s.name.clone());
    let was_stopped = e.inputs.iter().any(|i| i.name == "tick stopped" && i.value == 1);
    let tick = match (was_stopped, e.chosen.stop_tick) {
        (true, _) => "was stopped",
        (false, true) => "stopped",
        (false, false) => "kept",
    };
    format!("{name}, tick {tick}")
}

/// An input of a decision; nothing where it says nothing.
fn input(e: &Explanation, name: &str) -> Option<String> {
    let given: &InputValue = e.inputs.iter().find(|i| i.name == name)?;
    if given.is_none() {
        return (name == "sleep length").then(|| "no timer".to_owned());
    }
    let value = match given.unit {
        Unit::Ns => duration(given.value as f64),
        Unit::Count | Unit::Flag | Unit::State => given.value.to_string(),
    };
    let known = given.confidence.filter(|known| *known != "recorded");
    let known = known.map_or_else(String::new, |known| format!(" ({known})"));
    (given.confidence != Some("assumed")).then(|| format!("{name} {value}{known}"))
}

/// The rest of it is the end of a log, which JSON has.
fn first_line(text: &str) -> &str {
    text.split_once('\n').map_or(text, |(first, _)| first)
}

/// What the numbers depend on.
fn evidence(r: &ReviewReport, details: bool) -> Vec<Line> {
    let mut out: Vec<Line> = r.on.assumes.iter().map(|words| Line::new("note", words)).collect();
    out.extend(notes::lines(&r.on, details));
    for g in &r.governors {
        out.extend(no_base(g));
        out.extend(
            g.not_booted
                .iter()
                .map(|why| Line::new("note", format!("{}: not booted: {}", g.governor, first_line(why)))),
        );
        if let Some(booted) = &g.booted {
            out.push(Line::new(
                "note",
                format!(
                    "booted: all versions in one kernel, {n} starts of each, each a little later, under the same load; base: mean of its \
                     starts; base {AGAIN}: the base in {n} further starts, what chance alone gives: a change that is no larger says \
                     nothing of a patch; > <: the end nearer to 0 of the 95 % interval over starts; ~: nothing is shown for this kernel \
                     and load",
                    n = booted.starts
                ),
            ));
            let again = format!("base {AGAIN}");
            let of_rows = g.rows.iter().filter_map(|row| Some((row.row.as_str(), row.booted.as_ref()?)));
            let all: Vec<(&str, &BootedChange)> = of_rows.chain([(again.as_str(), &booted.again)]).collect();
            let failures = all.iter().filter_map(|(row, b)| Some((row, b.failure.as_ref()?)));
            out.extend(
                failures.map(|(row, why)| Line::new("note", format!("booted, {row}: {}", first_line(why)))),
            );
            if all.iter().any(|(_, b)| b.failure.is_none() && !b.as_recorded) {
                out.push(Line::new(
                    "note",
                    "booted, ?: the governor in user space does not make the kernel's choices from the same inputs, or the \
                     kernel's counters differ from the trace: do not trust that row",
                ));
            }
            out.extend(booted.complaints.iter().map(|words| Line::new("note", words)));
        }
    }
    out.extend(fidelity(r));
    out.extend(below_fidelity(r));
    out.extend(energy(r));
    out
}

/// What the numbers mean.
fn marks(r: &ReviewReport) -> Vec<Line> {
    let mut out = Vec::new();
    if r.governors.iter().any(|g| g.rows.iter().any(|row| row.against_base.is_some())) {
        let interval = if r.on.machines < 5 {
            format!(
                "?: no interval, since the recordings are of {} and 5 are needed",
                counted(r.on.machines, "machine", "machines")
            )
        } else {
            "> <: the end nearer to 0 of the 95 % interval, recordings resampled by machine or by load; ~: nothing is shown"
                .to_owned()
        };
        out.push(Line::plain(format!(
            "changes in tables are against base, below a patch against the row above; mean: geometric mean over recordings (of pp \
             the mean); {COUNTS}: in how many recordings; less is better; {interval}"
        )));
        let rows = || r.governors.iter().flat_map(|g| &g.rows).filter_map(|row| row.against_base.as_ref());
        if rows().any(|against| !against.by_basis.is_empty()) {
            out.push(Line::plain(
                "measured: a kernel on a machine or in a guest; emulated: a kernel on an emulated machine, with the idle states of \
                 a platform file; model: a simulation; each the mean of these recordings alone (?: of fewer than 5 machines)",
            ));
        }
        out.push(Line::plain(
            "differ: wake events with another first choice; \"decisions differ\" counts recordings with any other decision; blocks: \
             basic blocks executed for a decision",
        ));
        if r.governors.iter().any(|g| g.rows.iter().any(|row| !row.simulated.is_empty())) {
            let (first, last) = r.request.seeds();
            let (runs, left_out) = match r.request.repeat {
                1 => (
                    format!("1 run (seed {first})"),
                    "one run has no interval (?) and shows nothing by itself: only rows that are the same everywhere are left out",
                ),
                n => (
                    format!("{n} runs (seeds {first} to {last})"),
                    "> <: the end nearer to 0 of the 95 % interval over runs; rows of which nothing is shown are left out",
                ),
            };
            let of = match r.request.workloads.as_slice() {
                [] => String::new(),
                some => format!(" of {} alone", some.join(", ")),
            };
            out.push(Line::plain(format!(
                "recordings: open loop, a late wakeup delays nothing; simulated: a model, {runs} of 6 s{of}; \
                 power without the first 2 s, in which nothing has a history; {left_out}",
            )));
        } else {
            out.push(Line::plain("recordings are replayed in an open loop: a late wakeup delays nothing"));
        }
    }
    out
}

/// Why there is no base, and what rows are compared with instead.
fn no_base(g: &GovernorReview) -> Option<Line> {
    let problem = g.rows.first()?.problem.as_ref()?;
    let of_first = |row: &Row| row.same_as.is_none() && row.problem.is_none() && row.against_base.is_none();
    let instead = g.rows.iter().find(|row| of_first(row));
    let instead = instead.map_or_else(String::new, |row| format!("; its changes are against {}", row.row));
    Some(Line::new("warning", format!("{}{instead}", problem.words("base", &g.governor))))
}

/// In how many recordings replay itself makes other choices than the kernel more often than a row does than the base: what such a row
/// changes there may be replay's doing.
fn below_fidelity(r: &ReviewReport) -> Option<Line> {
    let unlike = |name: &str| {
        let head = r.on.recordings.iter().find(|h| h.name == name && h.basis != Some(Basis::Model))?;
        head.fidelity.as_ref().ok()?.same_pct().map(|same_pct| 100.0 - same_pct)
    };
    let rows = r.governors.iter().flat_map(|g| &g.rows).filter(|row| row.same_as.is_none());
    let counts = rows.filter_map(|row| {
        let against = row.against_base.as_ref()?;
        let known = || against.on.iter().filter_map(|on| Some((unlike(&on.recording)?, on.waits.differ_pct)));
        let below = known().filter(|(unlike, differ)| *differ > 0.0 && unlike > differ).count();
        (below > 0).then(|| format!("{} in {below} of {}", row.row, known().count()))
    });
    let counts: Vec<String> = counts.collect();
    (!counts.is_empty()).then(|| {
        let rows = counts.join(", ");
        Line::new(
            "note",
            format!("recordings in which replay differs from the kernel in more choices than the row from the base: {rows}"),
        )
    })
}

/// How many of the kernels' own choices replay repeats.
fn fidelity(r: &ReviewReport) -> Option<Line> {
    let of_kernels: Vec<_> = r.on.recordings.iter().filter(|h| h.basis != Some(Basis::Model)).collect();
    let known = of_kernels.iter().filter_map(|h| h.fidelity.as_ref().ok()?.same_pct());
    let mut known: Vec<f64> = known.collect();
    known.sort_by(f64::total_cmp);
    let (least, median) = (known.first()?, known.get(known.len() / 2)?);
    let of = counted(known.len(), "recording", "recordings");
    let unknown = match of_kernels.len() - known.len() {
        0 => String::new(),
        n => format!("; not known of {n}"),
    };
    Some(Line::new(
        "note",
        format!(
            "replay repeats {} % of the kernel's own choices, of states or of the tick, whichever is less (median of {of}; the least {} \
             %{unknown})",
            percent(*median),
            percent(*least)
        ),
    ))
}

/// What energies are worth.
fn energy(r: &ReviewReport) -> Option<Line> {
    let mut grades: Vec<(&str, usize)> = Vec::new();
    for h in &r.on.recordings {
        match grades.iter_mut().find(|(grade, _)| *grade == h.energy_grade) {
            Some((_, n)) => *n += 1,
            None => grades.push((&h.energy_grade, 1)),
        }
    }
    let words: Vec<String> = grades.iter().map(|(grade, n)| format!("{grade} ({n})")).collect();
    (!words.is_empty()).then(|| Line::new("note", format!("energy, by recordings: {}", words.join("; "))))
}

#[cfg(test)]
mod tests {
    use idlewise_review::{Booted, BootedNumber};

    use super::*;

    fn row(name: &str, base: Option<&str>, booted: Option<BootedChange>) -> Row {
        let against = base.map(|base| Against {
            row: base.to_owned(),
            recordings: 0,
            differing: 0,
            differ_pct: 0.0,
            effects: Vec::new(),
            by_basis: Vec::new(),
            on: Vec::new(),
        });
        Row { row: name.to_owned(), against_base: against, booted, ..Row::default() }
    }

    /// As measured in three columns: with an interval that is above 0, with one that holds it, and as it was.
    fn changes(as_recorded: bool) -> BootedChange {
        let number = |metric, base, change, half_width, unit| BootedNumber {
            metric,
            base: Some(base),
            value: Some(base * 1.5),
            unit,
            change: Some(change),
            half_width: Some(half_width),
        };
        BootedChange {
            numbers: vec![
                number("energy", 1.25, 3.0, 0.5, "%"),
                number("latency_mean", 215_000.0, 2.0, 2.5, "%"),
                number("too_deep", 0.91, 0.0, 0.0, "pp"),
            ],
            as_recorded,
            failure: None,
        }
    }

    #[test]
    fn a_booted_base_has_numbers_and_the_others_changes() {
        let failure = Some("the guest (my2-teo on rk3399, timer) returned no result".to_owned());
        let governor = GovernorReview {
            governor: "teo".to_owned(),
            file: String::new(),
            booted: Some(Booted {
                kernel: "6.12.117".to_owned(),
                platform: "rk3399".to_owned(),
                workload: "timer".to_owned(),
                energy_unit: "mJ".to_owned(),
                seconds: 3,
                starts: 5,
                again: changes(true),
                complaints: Vec::new(),
            }),
            not_booted: None,
            rows: vec![
                row("base", None, Some(changes(true))),
                row("+1", Some("base"), Some(changes(true))),
                row("+2", Some("base"), None),
                row("+3", Some("base"), Some(changes(false))),
                row(
                    "+4",
                    Some("base"),
                    Some(BootedChange { numbers: Vec::new(), as_recorded: true, failure }),
                ),
            ],
        };
        let table = booted(&governor).unwrap();
        assert_eq!(table.title, "booted: timer on rk3399, 5 runs of 3 s, Linux 6.12.117");
        let rows: Vec<String> = table.rows.iter().map(|cells| cells.join("|")).collect();
        assert_eq!(
            rows,
            [
                "base|1.250 mJ|215 us||0.91%|",
                "base again|+3.0% >2.5|~||same|",
                "+1|+3.0% >2.5|~||same|",
                "+3 ?|+3.0% >2.5|~||same|",
                "+4 !|||||"
            ]
        );
    }
}
