// SPDX-License-Identifier: GPL-2.0-only
//! What RAPL's counters and a fuel gauge would show of a simulated run, worked out by hand.

use std::path::Path;

use idlewise_experiment::simulate::{SimulateReport, SimulateRequest, simulate};
use idlewise_report::Format;
use idlewise_view as view;

/// Two CPUs of 100 mW each that share 20 mW, and a battery of 4 V.
const PLATFORM: &str = r#"
format = 1
id = "metered"
name = "Metered"
hz = 250

[battery]
voltage_mv = 4000
source = "made up"

[[cluster]]
name = "cores"
cpus = "0-1"

[[cluster.state]]
name = "WFI"
exit_latency_us = 1
residency_us = 1

[cluster.clock]
transition_latency_us = 0
invariant = true
source = "made up"

[cluster.power]
unit = "uw"
what = "made up"
source = "made up"
at_khz = 1000000
curve = [{ khz = 1000000, active = 100000, states = [10000], shared = 20000 }]
"#;

/// A second cluster of which no power is published.
const OTHER: &str = r#"
[[cluster]]
name = "others"
cpus = "2"

[[cluster.state]]
name = "WFI"
exit_latency_us = 1
residency_us = 1
"#;

/// Both CPUs always run.
const LOAD: &str = r#"{ "tasks" : {
	"a" : { "cpus" : [0], "run" : 1000 },
	"b" : { "cpus" : [1], "run" : 1000 }
}, "global" : { "calibration" : "CPU0" } }"#;

fn request(folder: &Path, platform: &str) -> SimulateRequest {
    let (machine, load) = (folder.join("metered.toml"), folder.join("load.json"));
    std::fs::write(&machine, platform).unwrap();
    std::fs::write(&load, LOAD).unwrap();
    SimulateRequest {
        workload: load.display().to_string(),
        platform: machine.display().to_string(),
        governors: vec!["menu".to_owned()],
        cpufreq: vec!["performance".to_owned()],
        signals: vec!["pelt".to_owned()],
        kernel: "6.12".to_owned(),
        duration_ns: Some(1_000_500_000),
        seed: 1,
        repeat: 1,
        ..SimulateRequest::default()
    }
}

fn run(request: &SimulateRequest) -> SimulateReport {
    simulate(request, None, &|_, _| {}).unwrap()
}

fn on(platform: &str) -> SimulateReport {
    let folder = tempfile::tempdir().unwrap();
    run(&request(folder.path(), platform))
}

fn told(r: &SimulateReport, about: &str, name: &str) -> Option<f64> {
    r.combinations[0].fact(about, name).map(|f| f.summary.mean)
}

#[test]
fn counters_show_whole_counts_of_the_last_update() {
    let r = on(PLATFORM);
    // 220 mW for 1 s, not 1.0005: 3604.48 counts of 2^-14 J; of the cores 3276.8. The kernel shows whole uJ.
    assert_eq!(told(&r, "rapl", "cores energy_uj"), Some(219_970.0));
    assert_eq!(told(&r, "rapl", "cores core energy_uj"), Some(199_951.0));
    let power = told(&r, "rapl", "cores power").unwrap();
    assert!((power - 219.970 / 1.0005).abs() < 1e-9, "who reads knows how long it was: {power}");
    assert_eq!(told(&r, "rapl", "all energy_uj"), None, "there is one package only");
    assert_eq!((r.meters.count_uj * 1000.0).round(), 61_035.0);
    let p = &r.meters.packages[0];
    assert_eq!((p.name.as_str(), p.cpus.as_str(), p.shared), ("cores", "0-1", true));
    assert_eq!((p.grade.as_str(), &p.none), (r.energy_grade.as_str(), &None));
}

#[test]
fn a_gauge_shows_steps_of_current_and_their_charge() {
    let close = |r: &SimulateReport, name: &str, expected: f64| {
        let found = told(r, "battery", name).unwrap();
        assert!((found - expected).abs() < 1e-9, "{name}: {found}, expected {expected}");
    };
    let battery = |r: &SimulateReport| r.meters.battery.clone().unwrap();
    let usual = battery(&on(PLATFORM));
    assert_eq!((usual.sample_ms, usual.step_ua, usual.base_from.as_str()), (176, 156, "not known"));
    // 220 mW at 4 V are 55 mA, or 366.7 steps of 150 uA; five samples of 176 ms are whole. In the first one the tasks begin
    // up to 0.2 ms late, which is 0.03 mA and no step.
    let r = on(&PLATFORM.replace("voltage_mv = 4000", "voltage_mv = 4000\nstep_ua = 150"));
    close(&r, "current", 55.05);
    close(&r, "charge", 5.0 * 55.05 * 0.176 / 3600.0);
    // Coarser ones, up and down.
    for (step, current) in [(40_000, 40.0), (35_000, 70.0), (200_000, 0.0)] {
        let coarse = PLATFORM.replace("voltage_mv = 4000", &format!("voltage_mv = 4000\nstep_ua = {step}"));
        close(&on(&coarse), "current", current);
    }
    // 400 mW of display and memory, from the file and as asked; what is asked stands above the file.
    let base = PLATFORM.replace("voltage_mv = 4000", "voltage_mv = 4000\nbase_mw = 400\nstep_ua = 100");
    let r = on(&base);
    close(&r, "current", 155.0);
    assert_eq!(battery(&r).base_from, "platform");
    let folder = tempfile::tempdir().unwrap();
    let r = run(&SimulateRequest { base_mw: Some(180), ..request(folder.path(), &base) });
    close(&r, "current", 100.0);
    assert_eq!(battery(&r).base_from, "request");
}

#[test]
fn a_run_shorter_than_a_sample_has_no_current() {
    let folder = tempfile::tempdir().unwrap();
    let short = SimulateRequest { duration_ns: Some(100_000_000), ..request(folder.path(), PLATFORM) };
    let r = run(&short);
    assert!(
        told(&r, "battery", "current").unwrap().is_nan() && told(&r, "battery", "charge").unwrap().is_nan()
    );
    assert!(told(&r, "rapl", "cores energy_uj").unwrap() > 0.0);
}

#[test]
fn relative_powers_make_no_joules() {
    let relative = on(&PLATFORM.replace("\"uw\"", "\"rel/1000\""));
    let none = Some("relative: no joules".to_owned());
    assert_eq!(relative.meters.packages[0].none, none);
    assert_eq!(relative.meters.battery.as_ref().unwrap().none, none);
    let metered = |r: &SimulateReport| {
        r.combinations[0].facts.iter().any(|f| ["rapl", "battery"].contains(&f.about.as_str()))
    };
    assert!(!metered(&relative));
    let text = view::simulate(&relative, false).render(Format::Table, &relative).unwrap();
    assert!(text.contains("cores (CPUs 0-1): relative: no joules"));
    // Of two packages one is in watts: it has a counter, the battery supplies both.
    let mixed = on(&format!("{PLATFORM}{OTHER}"));
    assert_eq!(told(&mixed, "rapl", "cores energy_uj"), Some(219_970.0));
    assert_eq!((&mixed.meters.packages[0].none, &mixed.meters.packages[1].none), (&None, &none));
    assert_eq!(mixed.meters.battery.as_ref().unwrap().none, none);
    assert_eq!(told(&mixed, "rapl", "all energy_uj"), None);
    assert_eq!(mixed.meters.packages[1].grade, "relative, derived from break-even");
}

#[test]
fn cpus_that_share_a_cache_are_one_package() {
    let two = PLATFORM.split("[[cluster]]").nth(1).unwrap().replace("cores", "more").replace("0-1", "2-3");
    let apart = format!("{PLATFORM}\n[[cluster]]{two}");
    let r = on(&apart);
    let names = |r: &SimulateReport| r.meters.packages.iter().map(|p| p.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&r), ["cores", "more"]);
    let uj = |name: &str| told(&r, "rapl", &format!("{name} energy_uj")).unwrap();
    assert!((uj("all") - uj("cores") - uj("more")).abs() <= 1.0, "of counts, not of whole uJ");
    let together = on(&apart.replace("hz = 250", "hz = 250\none_cache = true"));
    assert_eq!(names(&together), ["cores+more"]);
}

#[test]
fn a_base_without_a_battery_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let without = PLATFORM.replace("[battery]\nvoltage_mv = 4000\nsource = \"made up\"\n", "");
    let asked = SimulateRequest { base_mw: Some(100), ..request(folder.path(), &without) };
    let why = simulate(&asked, None, &|_, _| {}).unwrap_err().to_string();
    assert!(why.contains("--base-mw: metered has no battery"), "{why}");
}

#[test]
fn meters_read_the_same_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let asked = SimulateRequest {
        workload: "frames".to_owned(),
        platform: "pixel6".to_owned(),
        cpufreq: vec!["schedutil".to_owned()],
        repeat: 3,
        duration_ns: Some(1_000_000_000),
        ..request(folder.path(), PLATFORM)
    };
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| run(&asked))
    };
    let (one, four) = (on(1), on(4));
    assert_eq!(serde_json::to_string(&one).unwrap(), serde_json::to_string(&four).unwrap());
    for (about, name) in [("rapl", "LITTLE core energy_uj"), ("rapl", "all power"), ("battery", "current")] {
        assert!(told(&one, about, name).unwrap() > 0.0, "{about} {name}");
    }
    // What the counters lose: less than a count for each package and what was drawn in the last update's time.
    let lost = told(&one, "energy", "power").unwrap() - told(&one, "rapl", "all power").unwrap();
    assert!((0.0..3.0).contains(&lost), "{lost} mW");
}
