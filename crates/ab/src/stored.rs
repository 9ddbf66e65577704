// SPDX-License-Identifier: GPL-2.0-only
//! A session's file, read again: it may have come from another machine, or have been changed.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::metric::TIME;
use super::wakeups::METRICS;
use super::{AbRequest, Benchmark, Run, Waits, Wakeups};
use idlewise_live::LiveError;
use idlewise_live::limits::Limiting;

/// Version of the file.
pub(super) const SCHEMA: &str = "idlewise.ab-session/1";
/// The file in a session's folder: a line for the session, and one for each run.
pub const FILE: &str = "session.jsonl";
/// Rounds of a session, as options may ask for them.
const MOST_ROUNDS: u32 = 10_000;
/// Runs that a session may ask for.
const MOST_RUNS: u64 = 1_000_000;
/// The last number that a run may have: others follow when the session goes on.
const LAST_NUMBER: u64 = 1_000_000_000;
/// Retries of a run, as options may ask for them.
const MOST_RETRIES: u32 = 10_000;
/// The margin that options may ask for: 50 %.
const LARGEST_MARGIN: u32 = 500;
/// Counters are not read at one instant, so that a share may come to somewhat more than 100 %; none comes to this.
const MOST_PCT: f64 = 1000.0;
/// No measure of a run is larger, whatever its unit: sums of them stay finite and exact enough.
const LARGEST: f64 = 1e18;
/// No run has as many events: they would fill 64 TiB.
const MOST_EVENTS: u64 = 1 << 43;
/// Waits are kept in 32 bits of ns; the last step of a histogram is that of the longest, in us.
const LONGEST_WAIT_NS: u32 = u32::MAX;
const MOST_STEPS: usize = (u32::BITS - (LONGEST_WAIT_NS / 1000).leading_zeros()) as usize + 1;

/// The first line of a session's file.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Head {
    /// Version of the file.
    pub schema: String,
    /// What was asked for.
    pub request: AbRequest,
    pub kernel: String,
    pub driver: String,
    /// CPUs with idle states.
    pub cpus: usize,
    /// Their tables: of each, every state with exit latency and target residency. Empty in files of versions before 0.2.
    #[serde(default)]
    pub states: Vec<String>,
    /// The governor before the session.
    pub governor: String,
}

/// What a session's file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub head: Head,
    /// Its runs in the order of time.
    pub runs: Vec<Run>,
    /// Lines that are no run of this session, and are left out: how many, and what is wrong with the first.
    pub odd: Option<String>,
}

/// The name of the machine in a report: kernel and driver.
pub(super) fn machine(head: &Head) -> String {
    format!(
        "Linux {}, driver {}, {} CPUs, governor before: {}",
        head.kernel, head.driver, head.cpus, head.governor
    )
}

/// The session in `folder`. A line that was cut off when the session died is none.
///
/// # Errors
/// When there is none, it was written by another version, or asks for what no options may.
pub fn stored(folder: &Path) -> Result<Stored, LiveError> {
    let path = folder.join(FILE);
    let bytes =
        idlewise_files::read_within(&path, idlewise_files::LARGEST_MADE).map_err(LiveError::io(&path))?;
    let wrong = |why: String| LiveError::Session { path: path.clone(), why };
    let mut lines = (1..).zip(bytes.split(|b| *b == b'\n')).filter(|(_, line)| !line.is_empty());
    let head: Option<Head> = lines.next().and_then(|(_, line)| serde_json::from_slice(line).ok());
    let head = head
        .filter(|h| h.schema == SCHEMA)
        .ok_or_else(|| wrong(format!("not the session of an A/B comparison ({SCHEMA})")))?;
    check_request(&head.request).map_err(wrong)?;
    let mut runs: Vec<Run> = Vec::new();
    let (mut odd, mut first) = (0, String::new());
    for (number, line) in lines {
        let checked = match serde_json::from_slice::<Run>(line) {
            Err(e) if e.is_eof() => continue,
            Err(e) => Err(e.to_string()),
            Ok(run) => check_run(&run, &head.request, runs.last()).map(|()| run),
        };
        match checked {
            Ok(run) => runs.push(run),
            Err(why) => {
                if odd == 0 {
                    first = format!("line {number}: {why}");
                }
                odd += 1;
            }
        }
    }
    let odd = (odd > 0).then(|| {
        format!(
            "{odd} lines of {FILE} are not runs of the session and are ignored \
            ({first})"
        )
    });
    Ok(Stored { head, runs, odd })
}

fn check_request(request: &AbRequest) -> Result<(), String> {
    if request.arms.is_empty() || request.benchmarks.is_empty() {
        return Err("a session has arms and benchmarks; this one lacks them".to_owned());
    }
    if !(1..=MOST_ROUNDS).contains(&request.repeat) {
        return Err(format!("{} rounds; expected 1 to {MOST_ROUNDS}", request.repeat));
    }
    if request.retries > MOST_RETRIES || request.margin_permille > LARGEST_MARGIN {
        let (retries, margin) = (request.retries, request.margin_permille);
        return Err(format!(
            "{retries} retries and a margin of {margin} thousandths; expected {MOST_RETRIES} and {LARGEST_MARGIN} at most"
        ));
    }
    let lists = [request.arms.len(), request.benchmarks.len()];
    let runs = lists.iter().fold(u64::from(request.repeat), |n, len| n.saturating_mul(*len as u64));
    if runs > MOST_RUNS {
        return Err(format!("{runs} runs; expected {MOST_RUNS} at most"));
    }
    Ok(())
}

/// Whether it is a run of the session, after the one `before`.
fn check_run(run: &Run, request: &AbRequest, before: Option<&Run>) -> Result<(), String> {
    let number = u64::from(run.number);
    let least = before.map_or(1, |before| u64::from(before.number) + 1);
    if number < least || number > LAST_NUMBER {
        return Err(format!("run {number}; expected a number from {least} to {LAST_NUMBER}"));
    }
    let (arms, rounds) = (request.arms.len(), request.repeat);
    if run.arm >= arms || run.round >= rounds {
        let (arm, round) = (run.arm, run.round);
        return Err(format!("arm {arm} in round {round}; expected arms below {arms}, rounds below {rounds}"));
    }
    let Some(benchmark) = request.benchmarks.iter().find(|b| b.name == run.benchmark) else {
        return Err(format!("there is no benchmark {:?}", run.benchmark));
    };
    check_numbers(run, benchmark)?;
    run.limiting.as_ref().map_or(Ok(()), check_limiting)?;
    run.wakeups.as_ref().map_or(Ok(()), check_wakeups)
}

/// Whether what it measured can be.
fn check_numbers(run: &Run, benchmark: &Benchmark) -> Result<(), String> {
    let shares = [Some(run.foreign_pct), Some(run.steal_pct), run.too_deep_pct, run.too_shallow_pct];
    let possible = 0.0..=MOST_PCT;
    if let Some(value) = shares.into_iter().flatten().find(|v| !possible.contains(v)) {
        return Err(format!("a share of {value} %; expected 0 or more, and {MOST_PCT} at most"));
    }
    // An idle period counts whole when it ends, so that a short run may have more of a state than it lasted.
    let rates = [run.seconds, run.wakeups_per_s].into_iter();
    let rates = rates.chain(run.states.iter().flat_map(|s| [s.time_pct, s.entries_per_s]));
    let possible = 0.0..LARGEST;
    if let Some(value) = rates.chain(run.watts.values().copied()).find(|v| !possible.contains(v)) {
        return Err(format!("a time or a rate of {value}; expected 0 or more, and less than {LARGEST:e}"));
    }
    // What a benchmark prints may be negative; what is measured here is not.
    let ours = |name: &str| {
        benchmark.load.is_some() || name == TIME || METRICS.iter().any(|(metric, _)| *metric == name)
    };
    let impossible = |(name, value): &(&String, &f64)| {
        value.abs() >= LARGEST || !value.is_finite() || (ours(name) && **value < 0.0)
    };
    match run.values.iter().find(impossible) {
        Some((name, value)) => Err(format!("{name:?} of {value}; no run measures that")),
        None => Ok(()),
    }
}

/// Whether what limited it can be.
fn check_limiting(limiting: &Limiting) -> Result<(), String> {
    let shares = limiting.power.iter().flat_map(|l| [l.acting_pct, l.unknown_pct]);
    let throttled = limiting.throttling.iter().flat_map(|t| [t.core_pct, t.package_pct]).flatten();
    let possible = 0.0..=MOST_PCT;
    if let Some(value) = shares.chain(throttled).find(|v| !possible.contains(v)) {
        return Err(format!("a limited share of {value} %; expected 0 or more, and {MOST_PCT} at most"));
    }
    let numbers = limiting.power.iter().flat_map(|l| {
        let may = [l.mean_w, l.average_low_w, l.average_high_w, l.acting_from_s, l.acting_until_s];
        [l.limit_w, l.window_s].into_iter().chain(may.into_iter().flatten())
    });
    let possible = 0.0..LARGEST;
    match numbers.chain([limiting.seconds]).find(|v| !possible.contains(v)) {
        Some(value) => {
            Err(format!("a limit's power or time of {value}; expected 0 or more, and less than {LARGEST:e}"))
        }
        None => Ok(()),
    }
}

/// Whether its traced wakeups can be.
fn check_wakeups(w: &Wakeups) -> Result<(), String> {
    if w.events > MOST_EVENTS || w.lost > MOST_EVENTS {
        let (events, lost) = (w.events, w.lost);
        return Err(format!("{events} events and {lost} lost ones; expected {MOST_EVENTS} at most"));
    }
    let wakeups = w.all.count.saturating_add(w.hidden);
    if wakeups > w.events || w.idle.count > w.all.count {
        return Err(format!(
            "{wakeups} wakeups, {} of an idle CPU; expected no more than the {} events, and no more of an idle CPU than of all",
            w.idle.count, w.events
        ));
    }
    if let Some(until_s) = w.until_s.filter(|s| !(0.0..LARGEST).contains(s)) {
        return Err(format!("wakeups until {until_s} s; expected 0 or more"));
    }
    [&w.all, &w.idle].into_iter().try_for_each(check_waits)
}

fn check_waits(waits: &Waits) -> Result<(), String> {
    let steps = waits.histogram.len();
    let sum = waits.histogram.iter().fold(0_u64, |sum, n| sum.saturating_add(*n));
    if steps > MOST_STEPS || sum != waits.count {
        return Err(format!(
            "{} wakeups, and {sum} in {steps} steps of their histogram; expected as many, and {MOST_STEPS} steps at most",
            waits.count
        ));
    }
    let Waits { p50_us, p99_us, max_us, .. } = *waits;
    let longest_us = f64::from(LONGEST_WAIT_NS) / 1e3;
    let ordered = [0.0, p50_us, p99_us, max_us, longest_us].is_sorted();
    if ordered {
        return Ok(());
    }
    Err(format!(
        "waits of {p50_us} us (median), {p99_us} us (99th percentile), {max_us} us (longest); expected them in this order, from \
         0 to {longest_us}"
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;

    fn head() -> Value {
        json!({"schema": SCHEMA, "kernel": "6.1", "driver": "x", "cpus": 2, "governor": "menu", "request": {
            "arms": ["menu", "teo"], "benchmarks": [{"name": "b", "command": ["true"], "load": null}], "metrics": [],
            "disable": [], "latency_limit_us": null, "set": [], "repeat": 3, "warm_up": 1, "settle_ms": 1, "seed": 1,
            "foreign_pct": 10, "retries": 1, "margin_permille": 20, "aa": false}})
    }

    fn run(number: u32) -> Value {
        json!({"number": number, "round": 0, "benchmark": "b", "arm": 0, "left_out": null, "seconds": 1.5,
            "values": {"time": 1.5}, "wakeups_per_s": 10.0, "too_deep_pct": null, "too_shallow_pct": 1.0,
            "states": [{"name": "C1", "time_pct": 1.0, "entries_per_s": 2.0}], "watts": {"p": 1.0},
            "foreign_pct": 0.0, "foreign_by": [], "steal_pct": 0.0, "limit_us": null, "limited_by": [],
            "throttled": 0})
    }

    fn read(text: &str) -> Result<Stored, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE), text).unwrap();
        stored(folder.path()).map_err(|e| e.to_string())
    }

    /// What is said of a session of three runs whose second is changed.
    fn said(change: impl Fn(&mut Value)) -> String {
        let mut second = run(2);
        change(&mut second);
        let it = read(&format!("{}\n{}\n{second}\n{}\n", head(), run(1), run(3))).unwrap();
        assert_eq!(it.runs.iter().map(|r| r.number).collect::<Vec<_>>(), [1, 3]);
        it.odd.unwrap()
    }

    #[test]
    fn a_whole_session_and_one_that_was_cut_off_anywhere_are_read() {
        let text = format!("{}\n{}\n{}\n", head(), run(1), run(2));
        let first = head().to_string().len();
        for length in first + 1..=text.len() {
            let it = read(&text[..length]).unwrap();
            assert_eq!(it.odd, None, "{length}");
            // It goes on: the line that was cut off is ended.
            let it = read(&format!("{}\n{}\n", &text[..length], run(9))).unwrap();
            assert_eq!((it.odd, it.runs.last().map(|r| r.number)), (None, Some(9)), "{length}");
        }
        assert_eq!(read(&text).unwrap().runs.len(), 2);
        assert!(read(&text[..first - 1]).unwrap_err().contains("not the session"));
    }

    #[test]
    fn odd_runs_are_left_out_and_said() {
        for (name, value, words) in [
            ("number", json!(u32::MAX), "run 4294967295; expected a number from 2 to 1000000000"),
            ("number", json!(1), "run 1; expected a number from 2"),
            ("number", json!(0), "run 0; expected"),
            ("number", json!(4_294_967_296u64), "invalid value"),
            ("arm", json!(2), "expected arms below 2"),
            ("arm", json!(-1), "invalid value"),
            ("round", json!(3), "rounds below 3"),
            ("benchmark", json!("c"), "no benchmark \"c\""),
            ("seconds", json!(-1.0), "of -1; expected 0 or more"),
            ("seconds", json!(null), "invalid type: null"),
            ("watts", json!({"p": -0.5}), "of -0.5"),
            ("watts", json!({"p": 1e308}), "less than 1e18"),
            ("foreign_pct", json!(1e300), "expected 0 or more, and 1000 at most"),
            ("too_shallow_pct", json!(-1.0), "a share of -1 %"),
            ("values", json!({"time": -1.5}), "\"time\" of -1.5; no run measures that"),
            ("values", json!({"mine": -1e18}), "\"mine\" of -1000000000000000000;"),
            (
                "limiting",
                json!({"seconds": 1.0, "limited": null, "zones": 0, "power": [], "reasons": null,
                    "throttling": {"count": 1, "core_pct": -1.0, "package_pct": null}}),
                "a limited share of -1 %",
            ),
            (
                "limiting",
                json!({"seconds": -1.0, "limited": null, "zones": 0, "power": []}),
                "a limit's power or time of -1",
            ),
            (
                "states",
                json!([{"name": "C1", "time_pct": -1e308, "entries_per_s": 2.0}]),
                "expected 0 or more",
            ),
        ] {
            let said = said(|run| run[name] = value.clone());
            assert!(said.starts_with("1 lines of session.jsonl") && said.contains("line 3: "), "{said}");
            assert!(said.contains(words), "{name} {value}: {said}");
        }
        let infinite = run(1).to_string().replace("1.5", "1e999");
        let odd = read(&format!("{}\n{infinite}\nNaN\n", head())).unwrap().odd.unwrap();
        assert!(odd.starts_with("2 lines") && odd.contains("number out of range"), "{odd}");
    }

    #[test]
    fn wakeups_that_no_trace_shows_are_left_out() {
        let most = u64::MAX;
        let waits = json!({"count": 100, "p50_us": 1.0, "p99_us": 2.0, "max_us": 9.0, "histogram": [50, 50]});
        let fine = json!({"all": waits, "idle": waits, "hidden_cpus": [0], "hidden": 20, "events": 120, "lost": 0,
            "until_s": 1.5});
        let with = |second: Value| {
            let mut run = run(1);
            run["wakeups"] = second;
            run
        };
        assert_eq!(read(&format!("{}\n{}\n", head(), with(fine.clone()))).unwrap().odd, None);
        let mut long = vec![0; 24];
        long.push(100);
        for (place, value, words) in [
            ("/hidden", json!(most), "18446744073709551615 wakeups"),
            ("/events", json!(119), "no more than the 119 events"),
            ("/events", json!(most), "18446744073709551615 events and 0 lost ones"),
            ("/lost", json!(most), "and 18446744073709551615 lost ones; expected 8796093022208 at most"),
            ("/all/count", json!(most), "no more than the 120 events"),
            ("/all/count", json!(99), "100 of an idle CPU; expected"),
            ("/idle/count", json!(99), "99 wakeups, and 100 in 2 steps"),
            ("/idle/histogram", json!([most, most]), "and 18446744073709551615 in 2 steps"),
            ("/all/histogram", json!(long), "in 25 steps of their histogram; expected as many, and 24 steps"),
            ("/all/p50_us", json!(-1.0), "waits of -1 us (median)"),
            ("/all/p99_us", json!(0.5), "0.5 us (99th percentile)"),
            ("/idle/max_us", json!(4294967.5), "from 0 to 4294967.295"),
            ("/until_s", json!(-1.0), "wakeups until -1 s"),
        ] {
            let mut wakeups = fine.clone();
            *wakeups.pointer_mut(place).unwrap() = value.clone();
            let said = said(|run| run["wakeups"] = wakeups.clone());
            assert!(said.contains("line 3: ") && said.contains(words), "{place} {value}: {said}");
        }
    }

    #[test]
    fn a_session_that_no_options_ask_for_is_refused() {
        for (name, value, words) in [
            ("arms", json!([]), "lacks them"),
            ("benchmarks", json!([]), "lacks them"),
            ("repeat", json!(0), "0 rounds; expected 1 to 10000"),
            ("repeat", json!(u32::MAX), "4294967295 rounds; expected 1 to 10000"),
            ("retries", json!(u32::MAX), "4294967295 retries and a margin of 20 thousandths; expected 10000"),
            ("margin_permille", json!(501), "a margin of 501 thousandths; expected 10000 and 500 at most"),
            ("arms", json!(vec!["menu"; 400_000]), "1200000 runs; expected 1000000 at most"),
        ] {
            let mut head = head();
            head["request"][name] = value;
            let why = read(&format!("{head}\n")).unwrap_err();
            assert!(why.contains("session.jsonl: ") && why.contains(words), "{why}");
        }
    }
}
