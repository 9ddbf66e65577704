// SPDX-License-Identifier: GPL-2.0-only
//! Does `simulate --power-limit` limit, refuse what cannot be, and change nothing where it is not asked for?

use std::process::Command;

use crate::misuse::{Desk, repository};
use serde_json::Value;

/// FNV-1a, 64 bits.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3))
}

/// What a command prints that ends well, every byte.
fn printed(desk: &Desk, args: &[&str]) -> String {
    let out = desk.run(args);
    assert_eq!(out.status.code(), Some(0), "{args:?}");
    String::from_utf8(out.stdout).unwrap()
}

/// Hashes of what `idlewise` prints without power limits: a change of how limits act changes none, one of the simulator may. They are of
/// `simulate WORKLOAD --platform PLATFORM --seconds 0.5 --repeat 2 --governor menu,teo --format FORM`, the version and shares of
/// entries left out.
const BEFORE: [(&str, &str, &str, u64); 12] = [
    ("frames", "pixel6", "json", 0x341d_a989_ed26_a5c4),
    ("frames", "pixel6", "csv", 0x9216_305d_8318_59fc),
    ("web", "pixel6", "json", 0x6f1c_0ec9_eb63_ea78),
    ("web", "pixel6", "csv", 0x1813_568f_19a9_fde1),
    ("requests", "skylake-sp", "json", 0x1057_ba1d_9ab1_9b52),
    ("requests", "skylake-sp", "csv", 0x2a73_606c_30cf_ba42),
    ("pingpong", "power9", "json", 0x3b1c_7374_ad95_bad9),
    ("pingpong", "power9", "csv", 0xe501_a455_63dd_05d4),
    ("reads", "rk3399", "json", 0xdd42_5ff3_5f0c_9f50),
    ("reads", "rk3399", "csv", 0xa411_0c82_cf9d_6cf0),
    ("periodic", "hikey960", "json", 0x2d7f_3b14_b7c6_532d),
    ("periodic", "hikey960", "csv", 0x6193_dcff_5996_5bd0),
];

/// `text` without shares of entries, which came later.
fn without_shares_of_entries(text: &str) -> String {
    let is_share = |name: &str| name.contains(" % of entries");
    let Ok(mut result) = serde_json::from_str::<Value>(text) else {
        return text.split_inclusive('\n').filter(|line| !is_share(line)).collect();
    };
    for combination in result["combinations"].as_array_mut().unwrap() {
        let facts = combination["facts"].as_array_mut().unwrap();
        let kept: Vec<bool> = facts.iter().map(|f| !is_share(f["name"].as_str().unwrap())).collect();
        let keep = |all: &mut Vec<Value>| {
            let mut kept = kept.iter();
            all.retain(|_| *kept.next().unwrap());
        };
        keep(facts);
        for run in combination["runs"].as_array_mut().unwrap() {
            keep(run["values"].as_array_mut().unwrap());
        }
    }
    serde_json::to_string_pretty(&result).unwrap() + "\n"
}

#[test]
fn without_limits_every_byte_is_as_before() {
    let desk = Desk::new();
    let (mut now, mut were) = (Vec::new(), Vec::new());
    for (workload, platform, form, before) in BEFORE {
        let on = ["simulate", workload, "--platform", platform, "--seconds", "0.5", "--repeat", "2"];
        let text = printed(&desk, &[&on[..], &["--governor", "menu,teo", "--format", form]].concat());
        let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
        let text = without_shares_of_entries(&text).replace(&version, "");
        let line = |hash: u64| format!("{workload} on {platform} as {form}: {hash:#018x}");
        now.push(line(hash(text.as_bytes())));
        were.push(line(before));
    }
    assert_eq!(now, were);
}

/// Four tasks that always work on the 6 W Chromebook, for some seconds with a short window.
const LOAD: &str = r#"{ "tasks": { "busy": { "instance": 4, "loop": -1, "run": 20000 } }, "global": { "duration": 6, "calibration": "CPU0" } }"#;

fn simulate<'a>(limits: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    let on = ["simulate", "load.json", "--platform", "jasper-lake", "--governor", "menu", "--repeat", "2"];
    [&on[..], &["--power-limit", limits], rest].concat()
}

fn fact(result: &Value, row: usize, about: &str, name: &str) -> f64 {
    let facts = result["combinations"][row]["facts"].as_array().unwrap();
    let found = facts.iter().find(|f| f["about"] == about && f["name"] == name);
    found.unwrap_or_else(|| panic!("no {about} {name}"))["mean"].as_f64().unwrap()
}

#[test]
fn a_range_of_limits_gives_a_row_each_with_power_clock_and_work() {
    let desk = Desk::new();
    desk.write("load.json", LOAD);
    let text = printed(&desk, &simulate("pl1=4W..6W/1W:500ms", &["--format", "json"]));
    let result: Value = serde_json::from_str(&text).unwrap();
    let rows = result["combinations"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|c| c["power_limit"].as_str().unwrap()).collect();
    assert_eq!(names, ["pl1=4W:500ms", "pl1=5W:500ms", "pl1=6W:500ms"]);
    assert_eq!(result["own_limits"], "pl2=12W:976us");
    let of =
        |about: &str, name: &str| -> Vec<f64> { (0..3).map(|row| fact(&result, row, about, name)).collect() };
    let rises = |values: &[f64]| values.windows(2).all(|w| w[0] < w[1]);
    for (about, name) in
        [("energy", "power"), ("work", "throughput ms/s"), ("clock all", "mean while running")]
    {
        assert!(rises(&of(about, name)), "{about} {name}: {:?}", of(about, name));
    }
    for (row, watts) in (0..3).zip([4e3, 5e3, 6e3]) {
        let end = fact(&result, row, "limit", "pl1 average at the end");
        assert!((end - watts).abs() < 100.0, "{end} {watts}");
        assert!(fact(&result, row, "limit", "pl1 limited %") > 80.0);
    }
    // All that was drawn, over all that was done.
    let (power, done) = (of("energy", "power")[1], of("work", "throughput ms/s")[1]);
    let each = of("work", "energy of a second of work")[1];
    assert!((power / done * 1000.0 / each - 1.0).abs() < 1e-3, "{power} {done} {each}");
    let csv = printed(&desk, &simulate("pl1=4W..6W/1W:500ms", &["--format", "csv"]));
    assert!(csv.lines().next().unwrap().ends_with(",modes,power_limit"));
    let table = printed(&desk, &simulate("pl1=4W..6W/1W:500ms", &[]));
    assert!(table.contains(" pl1=5W ") && table.contains("limited"), "{table}");
    let other = printed(&desk, &simulate("pl1=4W..6W/1W:500ms", &["--baseline", "pl1=6W"]));
    assert!(other.contains("changes against pl1=6W"), "{other}");
    let free: Value =
        serde_json::from_str(&printed(&desk, &simulate("none", &["--format", "json"]))).unwrap();
    assert!(fact(&free, 0, "work", "throughput ms/s") > of("work", "throughput ms/s")[2]);
}

#[test]
fn limited_runs_are_the_same_for_any_number_of_threads() {
    let desk = Desk::new();
    desk.write("load.json", LOAD);
    let args = simulate(
        "pl1=3W..6W/1W:500ms,pl2=8W:976us",
        &["--cpufreq", "hwp-ewma,hwp-window", "--format", "json"],
    );
    let with = |threads: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_idlewise"));
        let out = command
            .args(&args)
            .env("RAYON_NUM_THREADS", threads)
            .current_dir(desk.path(""))
            .output()
            .unwrap();
        assert!(out.status.success());
        out.stdout
    };
    let one = with("1");
    assert!(one == with("3"), "threads change the result");
    // And from the result's own request.
    desk.write("result.json", &String::from_utf8(one.clone()).unwrap());
    let again = printed(&desk, &["simulate", "--again", "result.json", "--format", "json"]);
    assert!(again.as_bytes() == one, "the same request has another result");
}

#[test]
fn limits_that_cannot_be_are_refused_with_what_is_missing() {
    let desk = Desk::new();
    desk.write("load.json", LOAD);
    let refused = |limits: &str, expected: &[&str]| desk.refused(&simulate(limits, &[]), expected);
    refused("pl1=0.5W:28s", &["--power-limit", "pl1 of 0.5 W is not above", "expected more than 1.49 W"]);
    refused("pl1=6W:0s", &["pl1=6W:0s: has a window of 0", "expected a window above 0"]);
    refused("pl1=6", &["has no such power", "expected a power in W or mW"]);
    let on = |platform: &str, expected: &[&str]| {
        desk.refused(&["simulate", "frames", "--platform", platform, "--power-limit", "pl1=6W:1s"], expected)
    };
    on(
        "rk3399",
        &[
            "limits and temperatures need watts, and the powers of rk3399 are relative",
            "expected a platform with [cluster.power] in uw",
        ],
    );
    let text = std::fs::read_to_string(repository("platforms/jasper-lake.toml")).unwrap();
    let (head, clock) = text.split_once("[cluster.clock]").unwrap();
    let power = clock.split_once("[cluster.power]").unwrap().1;
    desk.write("fixed.toml", &format!("{head}[cluster.power]{power}"));
    on("./fixed.toml", &["a limit lowers clocks, and jasper-lake has none", "[cluster.clock]"]);
    let plain = ["simulate", "frames", "--platform", "./fixed.toml"];
    desk.refused(&plain, &["jasper-lake has none", "`--power-limit none` simulates it without limits"]);
    desk.write("baseless.toml", &text.replace("base_khz = 1100000\n", ""));
    let own = ["simulate", "frames", "--platform", "./baseless.toml", "--power-limit", "pl1=6W:no-clamp"];
    desk.refused(&own, &["pl1 without a clamp ends at the base clock", "expected base_khz"]);
    let twice = ["simulate", "frames", "--power-limit", "pl1=6W:1s", "--again", "x.json"];
    desk.refused(&twice, &["--again"]);
}

#[test]
fn a_machines_budget_is_shown() {
    let shown = printed(&Desk::new(), &["platform", "show", "jasper-lake"]);
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "package 1570.00 mW while a CPU is awake, 1140.00 mW from C3_ACPI on; 257.00 mW more for each CPU that is awake; 350.00 mW more always",
        "limits pl1 6000.00 mW over 28.0 s, clamped; pl2 12000.00 mW over 976 us, clamped; 400 us a step of the clock",
        "thermal 25.0 degrees C and 6.56 K/W over 997 ms, trip at 105.0 degrees C",
        "base clock 1100 MHz, turbo 3300 MHz with 2 active cores, 3100 MHz with 4 active cores",
    ] {
        assert!(flat.contains(words), "no {words:?}");
    }
}
