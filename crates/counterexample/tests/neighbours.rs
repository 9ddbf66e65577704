// SPDX-License-Identifier: GPL-2.0-only
//! Is there a short tape on which each version of TEO is worse than its neighbour, and does replay say so, too?

use std::fs;
use std::path::Path;
use std::sync::Mutex;

use idlewise_counterexample::{Counterexample, CounterexampleRequest, LONGEST, MACHINES, Origin, find};
use idlewise_governor::{Governor, Spec};
use idlewise_recording::ReplaySetup;
use idlewise_recording::candidate::Candidate;
use idlewise_score::measure::ENERGY;
use idlewise_study::replay::{ReplayRequest, replay};

/// The lineage, oldest first.
const VERSIONS: [&str; 6] = ["teo-5.6", "teo-6.1", "teo-util", "teo-6.6", "teo-fixed", "teo"];

fn governor(id: &str) -> Candidate {
    Candidate::of(Governor::find(&id.parse::<Spec>().unwrap()).unwrap())
}

fn drawn(rounds: u64) -> Origin {
    let machines = MACHINES.iter().map(|id| idlewise_platform::find(id).unwrap()).collect();
    Origin::Drawn { machines, seed: 1, rounds }
}

fn asked(a: &str, b: &str, origin: Origin) -> CounterexampleRequest {
    CounterexampleRequest {
        a: governor(a),
        b: governor(b),
        measure: ENERGY,
        by: 5.0,
        origin,
        hz: None,
        times: 1,
    }
}

/// The change of the first governor's idle energy against the second's in a replay of the tape at `path`, %.
fn replayed(path: &Path, a: &str, b: &str) -> f64 {
    let request = ReplayRequest {
        traces: vec![path.to_owned()],
        setup: ReplaySetup::default(),
        governors: vec![b.to_owned(), a.to_owned()],
        ..ReplayRequest::default()
    };
    let report = replay(&request, &|_, _| ()).unwrap();
    report.traces[0].governors[1].change.of(ENERGY)
}

fn write(found: &Counterexample, path: &Path) {
    fs::write(path, idlewise_tape::file::write(&found.tape().unwrap()).unwrap()).unwrap();
}

#[test]
fn neighbouring_versions_have_short_ones_that_replay_confirms() {
    let folder = tempfile::tempdir().unwrap();
    for pair in VERSIONS.windows(2) {
        for (a, b) in [(pair[0], pair[1]), (pair[1], pair[0])] {
            let all = find(&asked(a, b, drawn(120)), &|_, _, _| ()).unwrap();
            let found = all.found.as_ref().unwrap_or_else(|| unreachable!("{a} is never worse than {b}"));
            assert!(found.idle_periods <= LONGEST && found.worse >= 5.0, "{a} {b}: {found:?}");
            let path = folder.path().join(format!("{a}-{b}.tape"));
            write(&all, &path);
            let change = replayed(&path, a, b);
            assert!((change - found.worse).abs() < 1e-9, "{a} {b}: {change} {}", found.worse);
        }
    }
}

#[test]
fn habits_are_found_by_playing_the_same_again_and_again() {
    let folder = tempfile::tempdir().unwrap();
    let request = CounterexampleRequest { times: 20, ..asked("teo-6.1", "teo", drawn(120)) };
    let all = find(&request, &|_, _, _| ()).unwrap();
    let found = all.found.as_ref().unwrap();
    assert!(found.idle_periods == 20 * found.periods().len() && found.idle_periods <= LONGEST);
    let path = folder.path().join("habit.tape");
    write(&all, &path);
    assert!((replayed(&path, "teo-6.1", "teo") - found.worse).abs() < 1e-9);
}

#[test]
fn the_same_is_found_with_any_number_of_threads() {
    let one = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| find(&asked("teo-6.1", "teo", drawn(60)), &|_, _, _| ()).unwrap())
    };
    let first = one(1);
    assert!(first.found.is_some());
    assert_eq!(first, one(3));
}

#[test]
fn choices_differ_where_they_can_and_timers_are_due_no_earlier_than_the_wakeup() {
    for (a, b) in [("teo", "teo-fixed"), ("teo-fixed", "teo-6.6"), ("menu", "teo"), ("teo", "menu")] {
        let request = CounterexampleRequest { times: 20, ..asked(a, b, drawn(120)) };
        let found = find(&request, &|_, _, _| ()).unwrap().found.unwrap();
        assert!(found.story.iter().any(|row| (&row.a.chosen, &row.a.tick) != (&row.b.chosen, &row.b.tick)));
        assert!(found.story.iter().all(|row| row.timer_ns.is_none_or(|t| t >= row.woken_ns)), "{a}, {b}");
    }
}

#[test]
fn how_far_it_is_goes_up_and_ends_with_all() {
    let heard: Mutex<Vec<(String, usize, usize)>> = Mutex::default();
    let request = CounterexampleRequest { times: 20, ..asked("teo-6.1", "teo-5.6", drawn(60)) };
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let hear = |what: &str, done, of| heard.lock().unwrap().push((what.to_owned(), done, of));
    one.install(|| find(&request, &hear)).unwrap();
    let heard = heard.into_inner().unwrap();
    let stages = heard.chunk_by(|a, b| a.0 == b.0).collect::<Vec<_>>();
    assert_eq!(
        stages.iter().map(|s| s[0].0.as_str()).collect::<Vec<_>>(),
        ["searching", "making shorter", "making minimal"]
    );
    for stage in stages {
        assert!(stage.is_sorted_by(|a, b| a.1 < b.1 && a.2 == b.2), "{stage:?}");
        assert_eq!(stage.last().map(|s| s.1), stage.last().map(|s| s.2));
    }
    // Not only when a sequence is smaller: then its million is full.
    let between = heard.iter().filter(|h| h.0.starts_with("making") && h.1 % 1_000_000 != 0);
    assert!(between.count() > 5, "{heard:?}");
}

#[test]
fn a_recording_has_one_that_is_a_part_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let drawn = find(&asked("teo-6.1", "teo", drawn(60)), &|_, _, _| ()).unwrap();
    let path = folder.path().join("made.tape");
    write(&drawn, &path);
    let setup = Box::new(ReplaySetup::default());
    let again = Origin::Recordings { traces: vec![path], setup };
    let again = find(&asked("teo-6.1", "teo", again), &|_, _, _| ()).unwrap();
    let (found, drawn) = (again.found.unwrap(), drawn.found.unwrap());
    assert!(found.idle_periods <= drawn.idle_periods && found.worse >= 5.0);
    assert_eq!(found.machine.id, drawn.machine.id);
}

#[test]
fn what_has_no_better_way_is_refused_and_what_is_the_same_not_found() {
    let idle = idlewise_score::measure::MEASURES.iter().find(|m| m.name == "idle").unwrap();
    let refused = CounterexampleRequest { measure: idle, ..asked("teo", "teo-6.1", drawn(1)) };
    let why = find(&refused, &|_, _, _| ()).unwrap_err().to_string();
    assert!(why.contains("idle") && why.contains("which way is better"), "{why}");
    let same = find(&asked("teo", "teo", drawn(20)), &|_, _, _| ()).unwrap();
    assert!(same.found.is_none() && same.tape().is_none() && same.tried > 0);
}
