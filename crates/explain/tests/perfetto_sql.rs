// SPDX-License-Identifier: GPL-2.0-only
//! Do the SQL modules in `contrib/perfetto` find in a converted trace what `idlewise` itself prints of it?
//!
//! Perfetto's trace processor is in no package registry. The modules are run in SQLite, over tables of the same shape.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use idlewise_recording::ReplaySetup;
use idlewise_study::compare::{CompareRequest, compare};
use idlewise_study::replay::{Per, ReplayRequest};
use idlewise_study::score::score;
use idlewise_testkit::{known, recording, request, run};
use serde_json::{Value, json};

use crate::converting::{conversion, mixed, python, written};
use idlewise_explain::convert::Form;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/perfetto")
}

/// The modules by name.
fn modules() -> BTreeMap<String, String> {
    let files = fs::read_dir(folder().join("sql")).unwrap().map(|f| f.unwrap().path());
    let name = |path: &Path| format!("idlewise.{}", path.file_stem().unwrap().to_str().unwrap());
    files.map(|path| (name(&path), fs::read_to_string(&path).unwrap())).collect()
}

fn read_json(path: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder().join(path)).unwrap()).unwrap()
}

#[test]
fn the_extension_server_serves_the_modules_as_they_are() {
    let list: Vec<Value> =
        modules().into_iter().map(|(name, sql)| json!({ "name": name, "sql": sql })).collect();
    let expected = serde_json::to_string_pretty(&json!({ "sql_modules": list })).unwrap() + "\n";
    let path = folder().join("modules/default/sql_modules");
    if std::env::var_os("IDLEWISE_UPDATE_DOCS").is_some() {
        fs::write(&path, &expected).unwrap();
    }
    let is = fs::read_to_string(&path).unwrap();
    assert!(is == expected, "contrib/perfetto/sql changed: IDLEWISE_UPDATE_DOCS=1 cargo test --test explain");
    let manifest = read_json("manifest");
    assert_eq!(
        (&manifest["namespace"], &manifest["modules"][0]["id"]),
        (&json!("idlewise"), &json!("default"))
    );
    // What the protocol asks of names, and what a macro may run: the commands that Perfetto keeps stable.
    let stable = ["PinTracksByRegex", "RunQuery", "RunQueryAndShowTab", "AddDebugSliceTrackWithPivot"];
    for one in read_json("modules/default/macros")["macros"].as_array().unwrap() {
        assert!(one["id"].as_str().unwrap().starts_with("idlewise.") && one["name"].is_string(), "{one}");
        for command in one["run"].as_array().unwrap() {
            let id = command["id"].as_str().unwrap().strip_prefix("dev.perfetto.").unwrap();
            assert!(stable.contains(&id) && command["args"].is_array(), "{command}");
        }
    }
}

/// What each query finds in `trace`; nothing without Perfetto's messages.
fn ask(trace: &Path, queries: &[&str]) -> Option<Vec<Value>> {
    let python = python()?;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perfetto/sql.py");
    let out =
        Command::new(python).arg(script).arg(folder().join("sql")).arg(trace).args(queries).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    Some(String::from_utf8(out.stdout).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect())
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
}

const GOVERNORS: [&str; 3] = ["teo-6.1", "teo-util", "oracle"];

/// The queries that the guide shows.
fn guides_queries() -> Vec<String> {
    let guide = fs::read_to_string(folder().join("../../docs/guide/looking-at-a-trace.md")).unwrap();
    let blocks = guide.split("```sql\n").skip(1);
    blocks.map(|b| b.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn modules_find_what_replay_and_compare_print() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("it.perfetto-trace");
    let mut asked = conversion(&mixed(), Form::Perfetto, &GOVERNORS);
    let setup = ReplaySetup { platform: Some("pixel6".to_owned()), ..asked.setup.clone() };
    asked.setup = setup.clone();
    written(&asked, &to);
    // As `idlewise platform show pixel6` prints the LITTLE cluster's.
    let states = "(SELECT 0 AS cpu, 0 AS state, 1000 AS target_residency_ns, 1000 AS exit_latency_ns, 1.28 AS power_mw, 0 AS transition_uj \
                  UNION ALL SELECT 0, 1, 2000000, 230000, 0, 2.56)";
    let judged = format!(
        "SELECT COUNT(*) AS n, SUM(j.verdict = g.verdict) AS same FROM \
         idlewise_judged!((SELECT cpu, ts, state, residency_ns FROM idlewise_governed WHERE governor = 'teo-6.1'), {states}) AS j \
         JOIN idlewise_governed AS g ON g.ts = j.ts AND g.governor = 'teo-6.1'"
    );
    let powers = format!(
        "SELECT * FROM idlewise_energy_of!((SELECT cpu, state, MAX(wake_ts - ts, 0) AS dur FROM idlewise_governed \
         WHERE governor = 'teo-util'), {states})"
    );
    let queries = [
        "INCLUDE PERFETTO MODULE idlewise.misses; SELECT * FROM idlewise_misses WHERE source != 'recorded'",
        "INCLUDE PERFETTO MODULE idlewise.energy; SELECT * FROM idlewise_energy",
        "INCLUDE PERFETTO MODULE idlewise.divergence; SELECT * FROM idlewise_divergences WHERE a = 'teo-6.1'",
        "SELECT kind, COUNT(*) AS n FROM idlewise_divergence!('teo-6.1', 'teo-util') GROUP BY kind ORDER BY kind",
        &judged,
        &powers,
        "SELECT source, state, SUM(periods) AS periods FROM idlewise_time_in_state GROUP BY 1, 2",
    ];
    let guides = guides_queries();
    let all: Vec<&str> = queries.iter().copied().chain(guides.iter().map(String::as_str)).collect();
    let Some(found) = ask(&to, &all) else { return };
    assert!(guides.len() >= 3);
    for (query, rows) in guides.iter().zip(&found[queries.len()..]) {
        assert!(!rows.as_array().unwrap().is_empty(), "{query}");
    }
    let replayed =
        run(&ReplayRequest { setup: setup.clone(), ..request(&[&mixed()], "kvm-guest", "menu", &GOVERNORS) });
    for result in &replayed.traces[0].governors {
        let of = |table: &Value, key: &str| {
            let rows = table.as_array().unwrap();
            let mut its = rows.iter().filter(|r| r[key] == json!(result.governor));
            (its.next().unwrap().clone(), its.next().is_none())
        };
        let (misses, alone) = of(&found[0], "source");
        let (energy, _) = of(&found[1], "governor");
        let score = &result.score;
        assert!(alone, "one CPU");
        assert_eq!(
            (&misses["periods"], &energy["periods"]),
            (&json!(score.wakeups), &json!(result.decisions))
        );
        let number = |row: &Value, key: &str| row[key].as_f64().unwrap();
        assert!(near(number(&misses, "too_deep_pct"), score.too_deep_pct), "{misses}");
        assert!(near(number(&misses, "too_shallow_pct"), score.too_shallow_pct), "{misses}");
        assert!(
            near(number(&energy, "energy_mj"), score.energy) && score.energy > 1.0,
            "{energy} {}",
            score.energy
        );
        assert!(energy["energy_relative"].is_null());
        for (state, its) in score.states.iter().enumerate() {
            let row = found[6]
                .as_array()
                .unwrap()
                .iter()
                .find(|r| r["source"] == json!(result.governor) && r["state"] == json!(state));
            assert_eq!(row.map_or(0, |r| r["periods"].as_u64().unwrap()), its.entries, "{}", result.governor);
        }
    }
    let compared = compare(
        &CompareRequest {
            traces: vec![mixed()],
            setup,
            a: "teo-6.1".to_owned(),
            b: "teo-util".to_owned(),
            per: Per::All,
            fail_if: Vec::new(),
        },
        &|_, _| (),
    )
    .unwrap();
    // A wake event that came during the exit of one of them has no common time: those are left out.
    let waits = &compared.traces[0].comparison.waits;
    let row = found[2].as_array().unwrap().iter().find(|r| r["b"] == json!("teo-util")).unwrap();
    let kinds = json!([
        { "kind": "another state", "n": row["another_state"] },
        { "kind": "only one keeps the tick", "n": row["only_one_keeps_the_tick"] }
    ]);
    assert_eq!(found[3], kinds);
    for (key, n) in [("another_state", waits.other_state), ("only_one_keeps_the_tick", waits.other_tick)] {
        let found = row[key].as_u64().unwrap();
        assert!(found <= n && found * 100 >= n * 99, "{key}: {found} of {n}");
    }
    assert_eq!(found[4][0]["n"], found[4][0]["same"], "the kernel's rule");
    // By the table of powers: all but the idle loop and being awake for the tick.
    let score = &replayed.traces[0].governors[1].score;
    let (by_table, replayed) = (found[5][0]["energy_mj"].as_f64().unwrap(), score.energy - score.loop_energy);
    assert!(by_table <= replayed && by_table > 0.95 * replayed, "{by_table} {replayed}");
}

#[test]
fn modules_find_what_score_prints_of_a_recording() {
    let dir = tempfile::tempdir().unwrap();
    let to = dir.path().join("it.perfetto-trace");
    let queries = [
        "INCLUDE PERFETTO MODULE idlewise.misses; \
         SELECT SUM(periods) AS periods, SUM(too_deep) AS deep, SUM(too_shallow) AS shallow FROM idlewise_misses",
        "SELECT state, SUM(periods) AS n, SUM(dur) AS dur FROM idlewise_time_in_state GROUP BY state ORDER BY state",
    ];
    let of_others = [("mt8196/trace_6_12_sleep_length.dat", "mt8196", "teo")];
    let of_others =
        of_others.iter().filter_map(|(name, on, governor)| Some((recording(name)?, *on, *governor)));
    for (path, on, governor) in std::iter::once((mixed(), "kvm-guest", "menu")).chain(of_others) {
        written(&conversion(&path, Form::Perfetto, &[]), &to);
        let Some(found) = ask(&to, &queries) else { return };
        let scored = score(&path, &known(on, governor), Per::All, None).unwrap();
        let (states, rows) = (&scored.score.states, found[1].as_array().unwrap());
        assert_eq!(rows.len(), states.iter().filter(|s| s.entries > 0).count());
        for row in rows {
            let its = &states[row["state"].as_u64().unwrap() as usize];
            assert_eq!(row["n"], json!(its.entries + its.rejected), "{}", path.display());
            let (dur, ns) = (row["dur"].as_u64().unwrap(), its.residency_ns);
            assert!(
                dur == ns || (its.rejected > 0 && dur > ns && dur - ns < its.rejected * 50_000),
                "{dur} {ns}"
            );
        }
        // The kernel's verdicts, where it recorded them.
        let told = scored.agreement.map(|check| (check.kernel_above, check.kernel_below));
        let verdicts = told.map(|(deep, shallow)| json!({ "deep": deep, "shallow": shallow }));
        let mut its = found[0][0].clone();
        let periods = its.as_object_mut().unwrap().remove("periods").unwrap();
        assert_eq!(its, verdicts.unwrap_or_else(|| json!({ "deep": null, "shallow": null })));
        assert_eq!(periods, json!(rows.iter().map(|r| r["n"].as_u64().unwrap()).sum::<u64>()));
    }
}
