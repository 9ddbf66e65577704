// SPDX-License-Identifier: GPL-2.0-only
//! Is the JSON of each command what its schema says? `IDLEWISE_UPDATE_DOCS=1 cargo test --workspace --locked --test cli schemas::`
//! writes docs/reference/schemas anew; read it then.

use std::fs;
use std::path::{Path, PathBuf};

use idlewise_conform::recorded_governors::RecordedGovernor;
use idlewise_machine::boot::{self, BootReport, Cell, RecordingCheck, SelfTest};
use idlewise_model::NoteId;
use idlewise_recording::RecordingOptions;
use idlewise_recording::placement::Per;
use idlewise_study::info::info;
use idlewise_study::replay::results_of_scores;
use idlewise_study::score::score;
use serde_json::{Map, Value};

use crate::common::{idlewise, words};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn data(name: &str) -> String {
    root().join("tests/data").join(name).display().to_string()
}

fn printed(args: &[&str]) -> String {
    let o = idlewise().args(args).output().unwrap();
    assert!(!o.stdout.is_empty(), "{args:?}: {}", words(&o.stderr));
    words(&o.stdout)
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn schema(report: &str) -> Value {
    json(&printed(&["schema", report]))
}

/// What a schema says about a value, of the keywords that ours have: any other is an error of the test.
struct Check<'s> {
    root: &'s Value,
}

impl Check<'_> {
    fn value(&self, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
        let fail = |why: String| Err(format!("{at}: {why}: {value}"));
        let Some(rules) = schema.as_object() else {
            return if schema == &Value::Bool(true) { Ok(()) } else { fail("nothing is allowed".to_owned()) };
        };
        for (rule, what) in rules {
            match rule.as_str() {
                "$schema" | "$defs" | "title" | "description" | "default" | "properties"
                | "patternProperties" => {}
                "$ref" => {
                    let path = what.as_str().unwrap().strip_prefix('#').unwrap();
                    self.value(self.root.pointer(path).unwrap(), value, at)?;
                }
                "type" => {
                    let types = what.as_array().cloned().unwrap_or_else(|| vec![what.clone()]);
                    if !types.iter().any(|t| is(t.as_str().unwrap(), value)) {
                        return fail(format!("no {what}"));
                    }
                }
                "const" if what != value => return fail(format!("not {what}")),
                "enum" if !what.as_array().unwrap().contains(value) => {
                    return fail(format!("none of {what}"));
                }
                "const" | "enum" => {}
                "minimum" if value.as_f64().is_some_and(|v| v < what.as_f64().unwrap()) => {
                    return fail(format!("below {what}"));
                }
                "maximum" if value.as_f64().is_some_and(|v| v > what.as_f64().unwrap()) => {
                    return fail(format!("above {what}"));
                }
                "minItems" if value.as_array().is_some_and(|v| (v.len() as u64) < what.as_u64().unwrap()) => {
                    return fail(format!("fewer than {what}"));
                }
                "maxItems" if value.as_array().is_some_and(|v| (v.len() as u64) > what.as_u64().unwrap()) => {
                    return fail(format!("more than {what}"));
                }
                "minimum" | "maximum" | "minItems" | "maxItems" => {}
                "required" => {
                    let missing =
                        |name: &&Value| value.is_object() && value.get(name.as_str().unwrap()).is_none();
                    if let Some(name) = what.as_array().unwrap().iter().find(missing) {
                        return fail(format!("no {name}"));
                    }
                }
                "additionalProperties" => self.object(rules, what, value, at)?,
                "items" | "prefixItems" => self.array(rule, what, value, at)?,
                "anyOf" | "oneOf" => {
                    let all = what.as_array().unwrap();
                    let failures: Vec<String> =
                        all.iter().filter_map(|s| self.value(s, value, at).err()).collect();
                    if failures.len() == all.len() {
                        return fail(failures.join(" and "));
                    }
                }
                other => panic!("{at}: the test does not know the keyword {other}"),
            }
        }
        Ok(())
    }

    fn object(
        &self,
        rules: &Map<String, Value>,
        others: &Value,
        value: &Value,
        at: &str,
    ) -> Result<(), String> {
        let known = |name: &str| rules.get("properties").and_then(|k| k.get(name));
        let numbers = rules.get("patternProperties").map(|p| p.get(r"^\d+$").unwrap());
        let number = |name: &str| numbers.filter(|_| name.bytes().all(|b| b.is_ascii_digit()));
        for (name, field) in value.as_object().into_iter().flatten() {
            let schema = known(name).or_else(|| number(name)).unwrap_or(others);
            self.value(schema, field, &format!("{at}.{name}"))?;
        }
        Ok(())
    }

    fn array(&self, rule: &str, schemas: &Value, value: &Value, at: &str) -> Result<(), String> {
        for (n, item) in value.as_array().into_iter().flatten().enumerate() {
            let schema = if rule == "items" { Some(schemas) } else { schemas.get(n) };
            schema.map_or(Ok(()), |s| self.value(s, item, &format!("{at}[{n}]")))?;
        }
        Ok(())
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64() || value.as_f64().is_some_and(|v| v.fract() == 0.0),
        kind => panic!("no type {kind}"),
    }
}

fn check(schema: &Value, value: &Value) -> Result<(), String> {
    Check { root: schema }.value(schema, value, "$")
}

/// Whether `result` is what its schema says, and is no longer when something is added, left out or another in it.
pub(crate) fn fits(result: &Value) {
    let form = result["schema"].as_str().unwrap();
    let schema = schema(form.strip_prefix("idlewise.").unwrap().split('/').next().unwrap());
    if let Err(why) = check(&schema, result) {
        panic!("{form}: {why}");
    }
    assert_eq!(schema["title"], form);
    for name in schema["required"].as_array().unwrap() {
        let mut less = result.clone();
        less.as_object_mut().unwrap().shift_remove(name.as_str().unwrap());
        assert!(check(&schema, &less).unwrap_err().contains(&format!("no {name}")), "{form}");
    }
    let mut small = result.clone();
    shorten(&mut small);
    assert_eq!(check(&schema, &small), Ok(()), "{form}");
    let mut places = Vec::new();
    objects(&small, String::new(), &mut places);
    for place in places {
        small.pointer_mut(&place).unwrap()["mood"] = true.into();
        assert!(check(&schema, &small).is_err(), "{form}: {place}.mood is allowed");
        small.pointer_mut(&place).unwrap().as_object_mut().unwrap().shift_remove("mood");
    }
    let mut other = result.clone();
    other["schema"] = "idlewise.other/1".into();
    assert!(check(&schema, &other).unwrap_err().contains("$.schema: not"), "{form}");
}

/// Takes most elements off long lists: each is as the first.
fn shorten(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        Value::Array(all) => {
            if all.len() > 4 {
                all.truncate(2);
            }
            all.iter_mut().for_each(shorten);
        }
        _ => {}
    }
}

/// Where a result has objects; of a list the first element speaks for all.
fn objects(value: &Value, at: String, into: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                objects(field, format!("{at}/{name}"), into);
            }
            into.push(at);
        }
        Value::Array(all) => all.iter().take(1).for_each(|v| objects(v, format!("{at}/0"), into)),
        _ => {}
    }
}

#[test]
fn results_are_what_their_schemas_say() {
    let (mixed, sleeps) = (data("mixed.dat"), data("sleeploop.dat"));
    let (with_decisions, of_guest) = (data("kvm-guest/idle_quiet.dat"), data("lab/teo-util-timer.dat"));
    let closed = data("golden/closed/teo-7.3");
    let files = fs::read_dir(closed).unwrap().map(|e| e.unwrap().path().display().to_string());
    let golden = files.filter(|f| f.ends_with(".csv.gz")).min().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let simulated = folder.path().join("simulated.txt").display().to_string();
    let timer = ["simulate", "timer", "--platform", "rk3399", "--seconds", "1"];
    printed(&[&timer[..], &["--governor", "menu", "--write-trace", &simulated]].concat());
    let example = |name: &str| root().join("docs/guide/example").join(name).display().to_string();
    let (series, patient) = (example("patient.mbox"), example("patient.c"));
    let runs: [&[&str]; 27] = [
        &["replay", &mixed],
        &[
            "replay",
            &mixed,
            &sleeps,
            "-g",
            "menu,teo:latency_limit_us=20,oracle",
            "--per",
            "cpu",
            "--sensitivity",
        ],
        &["replay", &mixed, "-g", "menu,shallow", "--platform", "pixel6", "--per", "cluster", "--hz", "1000"],
        &["compare", "-g", "menu,teo", &mixed],
        &["compare", "-g", "teo,deepest", &mixed, &sleeps, "--per", "cpu", "--fail-if", "energy > +1%"],
        &["compare", "-g", "teo-6.1,teo-util", "--platform", "rk3399", &mixed],
        &["score", &mixed, "--per", "cpu"],
        &["score", &sleeps],
        &["info", &mixed],
        &["info", &sleeps],
        &["info", &with_decisions],
        &["info", &of_guest],
        &["replay", &with_decisions],
        &["replay", &of_guest],
        &["score", &of_guest],
        &["explain", &mixed, "--governor", "menu", "--cpu", "0", "--decision", "40"],
        &["explain", &mixed, "--governor", "teo-util", "--cpu", "0", "--after", "0.5", "--others", "none"],
        &["explain", "--golden", &golden, "--row", "3", "--governor", "teo"],
        &["explain", &mixed, "--why-differ", "menu,teo"],
        &["drive", "--governor", "shallow", "--golden", &golden],
        &["check", "teo-util-v1", "--property", "disabled,shallow"],
        &["check", "deepest", "--property", "index"],
        &[
            "review",
            &series,
            "--base",
            &patient,
            "--recordings",
            &sleeps,
            "--platform",
            "pixel6",
            "--repeat",
            "2",
            "--workload",
            "timer",
            "--sequences",
            "1",
        ],
        &["sweep", &mixed, &sleeps, "-g", "teo:decay_shift=2|3", "--platform", "pixel6"],
        &["bisect", "teo-6.1", "teo", &mixed, "--platform", "pixel6", "--fail-if", "latency_mean < -10%"],
        &[
            "simulate",
            "timer",
            "--platform",
            "rk3399",
            "--governor",
            "menu,teo",
            "--seconds",
            "1",
            "--repeat",
            "3",
        ],
        &["simulate", "timer", "--beside", &simulated, "--recorded-on", "rk3399"],
    ];
    for args in runs {
        let result = json(&printed(&[args, &["--format", "json"]].concat()));
        fits(&result);
        assert_eq!(result["version"], env!("CARGO_PKG_VERSION"));
    }
}

/// A note cannot be made without an id, and the page has every id.
#[test]
fn the_page_has_the_ids_of_all_notes() {
    const HEADING: &str = "## Notes and warnings\n";
    let path = root().join("docs/reference/json.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, section) = page.split_once(HEADING).unwrap();
    let intro = section.split("| id |").next().unwrap();
    let ids = schema("replay")["$defs"]["NoteId"]["oneOf"].as_array().unwrap().clone();
    let row = |id: &Value| {
        let [id, what] = ["const", "description"].map(|k| id[k].as_str().unwrap().replace('\n', " "));
        format!("| `{id}` | {} |\n", what.trim_end_matches('.'))
    };
    let rows: String = ids.iter().map(row).collect();
    let now = format!("{before}{HEADING}{intro}| id | what it says |\n|---|---|\n{rows}");
    if std::env::var_os("IDLEWISE_UPDATE_DOCS").is_some() {
        fs::write(&path, &now).unwrap();
    }
    let shown = fs::read_to_string(&path).unwrap();
    assert!(shown == now, "{} is out of date: IDLEWISE_UPDATE_DOCS=1 writes it", path.display());
}

/// Nothing is booted here: a result is made of what a recording of a guest gives.
#[test]
fn results_of_the_boot_lab_are_what_their_schemas_say() {
    let (path, options) = (PathBuf::from(data("lab/teo-util-timer.dat")), RecordingOptions::default());
    let scored = score(&path, &options, Per::Cpu, None).unwrap();
    let replayed = info(&path, &options, &[]).unwrap().replayed.unwrap();
    let parity: Vec<RecordedGovernor> = replayed.parity;
    let check = RecordingCheck {
        governor: "teo-util".to_owned(),
        parity: parity.into_iter().next(),
        fidelity: replayed.fidelity,
        counters: None,
    };
    assert!(check.parity.is_some() && check.fidelity.is_ok());
    let lab = BootReport {
        schema: boot::SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        kernel: "6.18.0".to_owned(),
        kernel_id: "0".repeat(16),
        qemu: "QEMU".to_owned(),
        baseline: "teo-util".to_owned(),
        cells: vec![Cell {
            platform: "synth4".to_owned(),
            driver: "synth".to_owned(),
            cpus: 4,
            workload: "timer".to_owned(),
            seconds: 1,
            start: None,
            folder: path,
            governors: results_of_scores(vec![("teo-util".to_owned(), scored.score, scored.groups)]),
            checks: vec![check],
            complaints: vec![NoteId::GuestFailed.note("timer under teo-util: no")],
        }],
    };
    fits(&serde_json::to_value(&lab).unwrap());
    let found = boot::Check { what: "KUnit".to_owned(), holds: true, found: "all pass".to_owned() };
    let schema = boot::SELF_TEST_SCHEMA.to_owned();
    fits(&serde_json::to_value(SelfTest { schema, checks: vec![found] }).unwrap());
}

/// As well as the schema is strict.
#[test]
fn a_result_that_is_changed_is_not_what_its_schema_says() {
    let schema = schema("replay");
    let result = json(&printed(&["replay", &data("sleeploop.dat"), "-g", "menu", "--format", "json"]));
    assert_eq!(check(&schema, &result), Ok(()));
    let changed = |at: &str, to: Value| {
        let mut result = result.clone();
        *result.pointer_mut(at).unwrap() = to;
        check(&schema, &result).unwrap_err()
    };
    assert!(changed("/schema", "idlewise.replay/1".into()).contains("$.schema: not"));
    assert!(changed("/traces/0/governors/0/decisions", (-1).into()).contains(".decisions: below 0"));
    assert!(changed("/traces/0/governors/0/score/energy_unit", Value::Null).contains(".energy_unit: no"));
    assert!(changed("/answer/trust/grade", "superb".into()).contains(".grade: none of"));
    let mut more = result.clone();
    more["traces"][0]["fidelity"] = serde_json::json!({"Ok": 1});
    assert!(check(&schema, &more).unwrap_err().contains("$.traces[0].fidelity"));
    let mut more = result.clone();
    more["traces"][0]["head"]["mood"] = "good".into();
    assert!(check(&schema, &more).unwrap_err().contains("head.mood: nothing is allowed"));
    let mut less = result.clone();
    less["traces"][0].as_object_mut().unwrap().remove("same_machine");
    assert!(check(&schema, &less).unwrap_err().contains("no \"same_machine\""));
}

#[test]
fn the_pages_hold_the_schemas_that_the_command_prints() {
    let folder = root().join("docs/reference/schemas");
    let reports = printed(&["schema"]);
    for report in reports.lines() {
        let (path, now) = (folder.join(format!("{report}.json")), printed(&["schema", report]));
        if std::env::var_os("IDLEWISE_UPDATE_DOCS").is_some() {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &now).unwrap();
        }
        let shown = fs::read_to_string(&path).unwrap_or_default();
        assert!(shown == now, "{} is out of date: IDLEWISE_UPDATE_DOCS=1 writes it", path.display());
    }
    assert_eq!(fs::read_dir(folder).unwrap().count(), reports.lines().count());
    let o = idlewise().args(["schema", "mood"]).output().unwrap();
    assert_eq!(o.status.code(), Some(2));
    let said = words(&o.stderr);
    assert!(said.contains("mood") && said.contains("ab, advise, beside, bisect, check, compare"), "{said}");
    assert_eq!(printed(&["schema", "boot"]), printed(&["schema", "lab"]), "its form has an older name");
}
