// SPDX-License-Identifier: GPL-2.0-only
//! `idlewise corpus` and `idlewise counterexample`: do the exit status and the words say what happened, and are results the same twice?

use std::fs;
use std::path::Path;

use idlewise_checkout::root;
use serde_json::Value;

use crate::common::{idlewise, words};
use crate::schemas::fits;

/// Exit status, standard output and standard error, in the project's folder.
fn run(args: &[&str]) -> (Option<i32>, String, String) {
    let o = idlewise().args(args).current_dir(root()).output().unwrap();
    (o.status.code(), words(&o.stdout), words(&o.stderr))
}

fn name(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_recording_goes_into_a_corpus_and_is_found_changed_later() {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("mine");
    let about = ["--workload", "mixed", "--basis", "measured", "--licence", "CC0-1.0", "--origin", "me"];
    let add = |trace: &str| run(&[&["corpus", "add", trace, "--to", name(&to)], &about[..]].concat());
    let (status, said, why) = add("tests/data/mixed.dat");
    assert_eq!(status, Some(0), "{why}");
    assert!(said.starts_with("mixed: 8238 idle periods of kvm-guest, measured, "), "{said}");
    assert!(said.contains("governors decide the same in"), "{said}");
    let (status, _, why) = add("tests/data/mixed.dat");
    assert!(status == Some(2) && why.contains("\"mixed\": is there twice"), "{why}");
    let (status, shown, _) = run(&["corpus", "list", name(&to)]);
    assert!(status == Some(0) && shown.contains("1 recording of 1 machine under 1 load"), "{shown}");
    assert_eq!(run(&["corpus", "verify", name(&to)]).0, Some(0));
    let tape = to.join("mixed.tape");
    fs::write(&tape, "IWTAPE").unwrap();
    let (status, shown, _) = run(&["corpus", "verify", name(&to)]);
    assert!(
        status == Some(1) && shown.contains("CHANGED") && shown.contains("6 bytes of another SHA-256"),
        "{shown}"
    );
    fs::remove_file(&tape).unwrap();
    let (status, shown, _) = run(&["corpus", "verify", name(&to)]);
    assert!(status == Some(1) && shown.contains("missing"), "{shown}");
    let (status, _, why) = run(&["corpus", "list", name(folder.path())]);
    assert!(status == Some(2) && why.contains("there is no index"), "{why}");
}

#[test]
fn a_simulated_recording_comes_out_the_same_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        let trace = folder.path().join(format!("{name}.perfetto-trace"));
        let to = folder.path().join(name);
        let simulate = ["simulate", "frames", "--platform", "kaby-lake-15w", "-g", "teo", "--seconds", "1"];
        run(&[&simulate[..], &["--write-trace", self::name(&trace)]].concat());
        let about = ["--workload", "frames", "--basis", "model", "--licence", "CC0-1.0", "--origin", "me"];
        let add = ["corpus", "add", self::name(&trace), "--to", self::name(&to), "--id", "frames"];
        let (status, _, why) = run(&[&add[..], &about[..]].concat());
        assert_eq!(status, Some(0), "{why}");
        // The processor's own interrupts and an empty wheel are in it: nothing is uncertain but the powers.
        let index = fs::read_to_string(to.join("index.toml")).unwrap();
        assert!(index.contains("trust = \"fair\"\nreasons = [\"powers are assumed\"]\n"), "{index}");
        (fs::read(to.join("frames.tape")).unwrap(), index)
    };
    assert!(make("one") == make("other"));
}

#[test]
fn a_simulated_recording_is_replayed_with_the_choices_that_were_made() {
    let folder = tempfile::tempdir().unwrap();
    let load = fs::read_to_string(root().join("docs/guide/example/beside/reads.json")).unwrap();
    // That RCU keeps a tick, no event shows at once.
    let load = load.replace("\"idlewise-call-rcu\" : \"\",", "");
    for (answers, governor, least) in [
        ("hrtimer", "menu", 99.5),
        ("hrtimer", "teo", 99.5),
        ("irq", "menu", 99.5),
        // So many fewer choices that the first, which depend on what was before, count for more.
        ("wheel-timer", "teo", 98.0),
    ] {
        let (file, trace) = (folder.path().join("reads.json"), folder.path().join("trace.txt"));
        fs::write(&file, load.replace("\"hrtimer\"", &format!("\"{answers}\""))).unwrap();
        let to = ["--write-trace", name(&trace), "--platform", "rk3399", "-g", governor, "--seconds", "2"];
        let (status, _, why) = run(&[&["simulate", name(&file)][..], &to[..]].concat());
        assert_eq!(status, Some(0), "{why}");
        let json = run(&["replay", name(&trace), "-g", governor, "-f", "json"]).1;
        let fidelity = &serde_json::from_str::<Value>(&json).unwrap()["traces"][0]["fidelity"];
        for same in ["same_state_pct", "same_tick_pct"] {
            let of = fidelity[same].as_f64().unwrap();
            assert!(of > least, "{answers}, {governor}: {same} {of}: {fidelity}");
        }
        fs::remove_file(&trace).unwrap();
        fs::remove_file(trace.with_extension("toml")).unwrap();
    }
}

#[test]
fn a_scrubbed_tape_replays_as_its_recording() {
    let folder = tempfile::tempdir().unwrap();
    let tape = folder.path().join("given.tape");
    let scrub = || run(&["corpus", "scrub", "tests/data/sleeploop.dat", "-o", name(&tape)]);
    let (status, said, why) = scrub();
    assert!(status == Some(0) && said.contains("governors decide the same in"), "{said}{why}");
    let (status, _, why) = scrub();
    assert!(status == Some(2) && why.contains("exists"), "{why}");
    let scores = |trace: &str| {
        let json = run(&["replay", trace, "-g", "menu,teo", "-f", "json"]).1;
        serde_json::from_str::<Value>(&json).unwrap()["traces"][0]["governors"].clone()
    };
    assert_eq!(scores("tests/data/sleeploop.dat"), scores(name(&tape)));
}

#[test]
fn a_run_has_the_same_bytes_for_any_number_of_threads() {
    let with = |threads: &str, format: &str| {
        let args =
            ["corpus", "run", "-g", "menu,teo", "--workload", "frames", "--per", "machine", "-f", format];
        let o = idlewise().args(args).current_dir(root()).env("RAYON_NUM_THREADS", threads).output().unwrap();
        assert!(o.status.success(), "{}", words(&o.stderr));
        words(&o.stdout)
    };
    for format in ["json", "table", "csv"] {
        assert_eq!(with("1", format), with("3", format));
    }
    let (status, _, why) = run(&["corpus", "run", "--machine", "pixel7"]);
    assert!(status == Some(2) && why.contains("\"pixel7\"; expected one of"), "{why}");
    let (status, _, why) = run(&["corpus", "run", "-g", "tea"]);
    assert!(status == Some(2) && why.contains("did you mean `teo`?"), "{why}");
}

#[test]
fn results_are_what_their_schemas_say_and_hold_what_was_chosen() {
    let json = |args: &[&str]| {
        let (status, shown, why) = run(&[args, &["-f", "json"]].concat());
        assert!(status.is_some_and(|s| s < 2), "{why}");
        let json: Value = serde_json::from_str(&shown).unwrap();
        fits(&json);
        json
    };
    let chosen = ["--machine", "kvm-guest,pixel6", "--split", "validation"];
    let listed = json(&[&["corpus", "list"], &chosen[..]].concat());
    let listed = listed["recording"].as_array().unwrap();
    assert!(!listed.is_empty() && listed.iter().all(|r| r["machine"] == "kvm-guest"));
    let verified = json(&[&["corpus", "verify"], &chosen[..]].concat());
    assert_eq!(verified["recordings"].as_array().unwrap().len(), listed.len());
    let ran = json(&["corpus", "run", "-g", "menu,teo", "--workload", "web", "--per", "basis"]);
    assert!(ran["parts"][0]["recordings"].as_u64().unwrap() > 1);
    json(&["counterexample", "teo-6.1", "teo", "--rounds", "50"]);
    json(&["counterexample", "teo-6.1", "teo", "--rounds", "1", "--by", "999999"]);
}

#[test]
fn downloads_arrive_or_say_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("list");
    let from = root().join("tests/data/sleeploop.toml");
    let url = format!("file://{}", from.canonicalize().unwrap().display());
    let to = folder.path().join("here");
    let fetch = |line: &str| {
        fs::write(&list, line).unwrap();
        run(&["corpus", "fetch", name(&list), "--to", name(&to)])
    };
    let wrong = "0".repeat(64);
    let (status, _, why) = fetch(&format!("{wrong} {url}\n"));
    if why.contains("curl") && why.contains("install it") {
        eprintln!("skipped: downloads: no curl");
        return;
    }
    assert!(status == Some(2) && why.contains("wrong hash"), "{why}");
    // A list may name any file of this machine: whoever reads what is printed does not learn its hash.
    let found = idlewise_corpus::hash_of(&from).unwrap().sha256;
    assert!(!why.contains(&found), "{why}");
    let line = format!("{found} {url} mine.toml\n");
    let (status, said, why) = fetch(&line);
    assert!(status == Some(0) && said == "mine.toml: arrived\n", "{said}{why}");
    assert_eq!(fs::read(to.join("mine.toml")).unwrap(), fs::read(&from).unwrap());
    assert_eq!(fetch(&line).1, "mine.toml: was there\n");
    let (status, _, why) = fetch("nonsense\n");
    assert!(status == Some(2) && why.contains("line 1: 1 words"), "{why}");
}

#[test]
fn a_counterexample_is_a_story_a_tape_and_a_workload() {
    let folder = tempfile::tempdir().unwrap();
    let at = |file: &str| folder.path().join(file);
    let (tape, load) = (at("worse.tape"), at("worse.json"));
    let find = |more: &[&str]| {
        run(&[&["counterexample", "teo-6.6", "teo-fixed", "--rounds", "100", "--times", "20"], more].concat())
    };
    let (status, shown, why) = find(&["--tape", name(&tape), "--rt-app", name(&load)]);
    assert_eq!(status, Some(0), "{why}");
    for part in
        ["teo-6.6 is worse than teo-fixed by ", "the machine: ", "the last round", "tape: ", "rt-app: "]
    {
        assert!(shown.contains(part), "no {part:?} in {shown}");
    }
    let json: Value = serde_json::from_str(&find(&["-f", "json"]).1).unwrap();
    let replayed = run(&["replay", name(&tape), "-g", "teo-fixed,teo-6.6", "-f", "json"]).1;
    let replayed: Value = serde_json::from_str(&replayed).unwrap();
    let change = &replayed["traces"][0]["governors"][1]["change"]["energy_pct"];
    let worse = json["found"]["worse"].as_f64().unwrap();
    assert!((change.as_f64().unwrap() - worse).abs() < 1e-9, "{change} {worse}");
    // The simulator reads what rt-app reads.
    let platform = json["found"]["machine"]["id"].as_str().unwrap();
    let args = ["simulate", name(&load), "--platform", platform, "-g", "teo-fixed", "--seconds", "1"];
    let (status, _, why) = run(&args);
    assert_eq!(status, Some(0), "{why}");
    let (status, _, why) = find(&["--tape", name(&tape)]);
    assert!(status == Some(2) && why.contains("exists"), "{why}");
}

#[test]
fn what_cannot_be_searched_is_refused_and_what_is_not_found_is_said() {
    let (status, shown, _) =
        run(&["counterexample", "teo-6.1", "shallow", "--by", "999999%", "--rounds", "5"]);
    assert!(status == Some(1) && shown.starts_with("no sequence found on which teo-6.1 is worse"), "{shown}");
    for (args, expected) in [
        (vec!["teo", "teo"], "named twice"),
        (vec!["oracle", "teo"], "the oracle can be B"),
        (vec!["teo", "menu", "--metric", "idle"], "which way is better"),
        (vec!["teo", "menu", "--metric", "enrgy"], "expected one of"),
        (vec!["teo", "menu", "--by", "0"], "expected per cent above 0"),
        (vec!["teo", "menu", "--by", "1e300"], "below a million"),
        (vec!["teo", "menu", "none.dat"], "none.dat"),
        (vec!["teo", "menu", "-p", "pixel7"], "pixel7"),
    ] {
        let (status, _, why) = run(&[&["counterexample"], &args[..]].concat());
        assert!(status == Some(2) && why.contains(expected), "{args:?}: {why}");
    }
}
