// SPDX-License-Identifier: GPL-2.0-only
//! A session's file, read again: it may have come from another machine, or have been changed.

use std::path::Path;

use super::session::Head;
use super::{AbRequest, Run};
use crate::LiveError;

/// Version of the file.
pub(super) const SCHEMA: &str = "idlewise.ab-session/1";
/// The file in a session's folder: a line for the session, and one for each run.
pub(super) const FILE: &str = "session.jsonl";
/// Rounds of a session, as options may ask for them.
const MOST_ROUNDS: u32 = 10_000;
/// Runs that a session may ask for.
const MOST_RUNS: u64 = 1_000_000;
/// The last number that a run may have: others follow when the session goes on.
const LAST_NUMBER: u64 = 1_000_000_000;

/// What a session's file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Its first line.
    pub head: Head,
    /// Its runs in the order of time.
    pub runs: Vec<Run>,
    /// Lines that are no run of this session, and are left out: how many, and what is wrong with the first.
    pub odd: Option<String>,
}

/// The session in `folder`. A line that was cut off when the session died is none.
///
/// # Errors
/// When there is none, it was written by another version, or asks for what no options may.
pub fn stored(folder: &Path) -> Result<Stored, LiveError> {
    let path = folder.join(FILE);
    let bytes =
        idlewise_files::read_within(&path, idlewise_files::LARGEST_MADE).map_err(LiveError::io(&path))?;
    let wrong = |why: String| LiveError::Request(format!("{}: {why}", path.display()));
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
    let odd =
        (odd > 0).then(|| format!("{odd} lines of {FILE} are no runs of the session and left out ({first})"));
    Ok(Stored { head, runs, odd })
}

fn check_request(request: &AbRequest) -> Result<(), String> {
    if request.arms.is_empty() || request.benchmarks.is_empty() {
        return Err("a session has arms and benchmarks; this one lacks them".to_owned());
    }
    if !(1..=MOST_ROUNDS).contains(&request.repeat) {
        return Err(format!("{} rounds; expected 1 to {MOST_ROUNDS}", request.repeat));
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
    if !request.benchmarks.iter().any(|b| b.name == run.benchmark) {
        return Err(format!("there is no benchmark {:?}", run.benchmark));
    }
    let shares = [run.foreign_pct, run.steal_pct, run.seconds, run.wakeups_per_s];
    let optional = [run.too_deep_pct, run.too_shallow_pct].into_iter().flatten();
    let states = run.states.iter().flat_map(|s| [s.time_pct, s.entries_per_s]);
    let watts = run.watts.values().copied();
    match shares.into_iter().chain(optional).chain(states).chain(watts).find(|v| *v < 0.0) {
        Some(value) => Err(format!("a share, a time or a rate of {value}; expected 0 or more")),
        None => Ok(()),
    }
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
    fn a_session_that_no_options_ask_for_is_refused() {
        for (name, value, words) in [
            ("arms", json!([]), "lacks them"),
            ("benchmarks", json!([]), "lacks them"),
            ("repeat", json!(0), "0 rounds; expected 1 to 10000"),
            ("repeat", json!(u32::MAX), "4294967295 rounds; expected 1 to 10000"),
            ("arms", json!(vec!["menu"; 400_000]), "1200000 runs; expected 1000000 at most"),
        ] {
            let mut head = head();
            head["request"][name] = value;
            let why = read(&format!("{head}\n")).unwrap_err();
            assert!(why.contains("session.jsonl: ") && why.contains(words), "{why}");
        }
    }
}
