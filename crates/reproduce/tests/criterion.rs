// SPDX-License-Identifier: GPL-2.0-only
//! Is what docs/concepts/power-criterion.md says of machines what the closed form gives, of the numbers of their platforms? The numbers
//! that its picture compares with a simulation are computed here, too.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use idlewise_power::Budget;
use idlewise_reproduce::{Experiment, Published};
use toml::Value;

/// A platform's powers, W, and latencies, us.
struct Machine {
    /// Clock, what a busy core draws there, and a CPU in each state.
    curve: Vec<(f64, f64, Vec<f64>)>,
    /// Of the states.
    exit_us: Vec<f64>,
    names: Vec<String>,
    threads: usize,
    cores: usize,
    /// While a CPU keeps it awake, and for each that works.
    awake_w: f64,
    each_w: f64,
    limit_w: f64,
}

/// A clock, kHz, and what follows of it.
struct Point {
    khz: f64,
    busy_w: f64,
    states_w: Vec<f64>,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn number(v: &Value) -> f64 {
    v.as_integer().unwrap() as f64
}

impl Machine {
    fn of(id: &str) -> Self {
        let text = fs::read_to_string(root().join(format!("platforms/{id}.toml"))).unwrap();
        let all: Value = toml::from_str(&text).unwrap();
        let cluster = &all["cluster"][0];
        let watts = |v: &Value| number(v) / 1e6;
        let package = &all["package"];
        let of = |key: &str| package.get(key).map_or(0.0, watts);
        let row = |r: &Value| {
            let states = r["states"].as_array().unwrap().iter().map(watts).collect();
            (number(&r["khz"]), watts(&r["active"]), states)
        };
        let states = cluster["state"].as_array().unwrap();
        let cpus = cluster["cpus"].as_str().unwrap().split_once('-').unwrap().1.parse::<usize>().unwrap() + 1;
        let threads = cluster.get("threads").map_or(1, |t| number(t) as usize);
        Self {
            curve: cluster["power"]["curve"].as_array().unwrap().iter().map(row).collect(),
            exit_us: states.iter().map(|s| number(&s["exit_latency_us"])).collect(),
            names: states.iter().map(|s| s["name"].as_str().unwrap().to_owned()).collect(),
            threads,
            cores: cpus / threads,
            awake_w: of("awake") + of("always"),
            each_w: of("each_awake"),
            limit_w: watts(&all["limits"]["pl1"]["power"]),
        }
    }

    fn at(&self, khz: f64) -> Point {
        let pair = self.curve.windows(2).find(|p| khz <= p[1].0).unwrap();
        let share = (khz - pair[0].0) / (pair[1].0 - pair[0].0);
        let between = |a: f64, b: f64| a + share * (b - a);
        let states = pair[0].2.iter().zip(&pair[1].2).map(|(a, b)| between(*a, *b));
        Point { khz, busy_w: between(pair[0].1, pair[1].1), states_w: states.collect() }
    }

    /// The clock at which so many cores draw what `limit_w` leaves, a number that may depend on the clock; nothing where the highest
    /// one does not reach the limit.
    fn limited(&self, limit_w: f64, busy: &dyn Fn(f64) -> f64) -> Option<Point> {
        let drawn = |khz: f64| self.awake_w + busy(khz) * (self.at(khz).busy_w + self.each_w);
        let (mut low, mut high) = (self.curve[0].0, self.curve.last().unwrap().0);
        if drawn(high) <= limit_w {
            return None;
        }
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            if drawn(middle) > limit_w { high = middle } else { low = middle }
        }
        Some(self.at(f64::midpoint(low, high)))
    }
}

fn page() -> PathBuf {
    root().join("docs/concepts/power-criterion.md")
}

/// `12` or `0.9`.
fn short(v: f64) -> String {
    if v >= 10.0 { format!("{v:.0}") } else { format!("{v:.1}") }
}

/// A line for each machine, for one idle core and for half of them.
fn table() -> String {
    let mut out = String::from(
        "| machine | PL1 | idle cores | clock | saved by C1 | drawn by C1 | work of a wakeup at which both are equal |\n|---|---:|---:|---:|---:|---:|---:|\n",
    );
    for id in ["jasper-lake", "kaby-lake-15w", "comet-lake-10600k", "broadwell-ep-2690v4", "ice-lake-8358"] {
        let m = Machine::of(id);
        let shallow = m.names.iter().position(|n| n.starts_with("C1")).unwrap();
        let deep = m.exit_us.len() - 1;
        for idle in BTreeSet::from([1, m.cores / 2]) {
            let busy = (m.cores - idle) as f64;
            let _ = write!(out, "| `{id}` | {} W | {idle} of {} | ", m.limit_w, m.cores);
            let Some(point) = m.limited(m.limit_w, &|_| busy) else {
                out += "not limited | | | never |\n";
                continue;
            };
            let saved = m.exit_us[deep] - m.exit_us[shallow];
            let extra = (idle * m.threads) as f64 * (point.states_w[shallow] - point.states_w[deep]);
            let package_w = m.awake_w + busy * m.each_w;
            let budget = Budget { limit_w: m.limit_w, idle_w: 0.0, package_w };
            let [least, most] = budget.break_even_work_us(saved, extra, 1.0).unwrap();
            let _ = writeln!(
                out,
                "{:.0} MHz | {saved} us | {extra:.2} W | {} to {} ms |",
                point.khz / 1e3,
                short(least / 1e3),
                short(most / 1e3)
            );
        }
    }
    out
}

#[test]
fn the_page_has_the_closed_form_of_each_machine() {
    let text = fs::read_to_string(page()).unwrap();
    let (before, rest) = text.split_once("<!-- machines -->\n").unwrap();
    let (_, after) = rest.split_once("<!-- end -->").unwrap();
    let now = format!("{before}<!-- machines -->\n{}<!-- end -->{after}", table());
    if std::env::var_os("IDLEWISE_UPDATE_DOCS").is_some() {
        fs::write(page(), &now).unwrap();
    } else {
        assert_eq!(text, now, "power-criterion.md: IDLEWISE_UPDATE_DOCS=1 writes the table anew");
    }
}

/// The thread of the picture waits so long, us.
const WAIT_US: f64 = 2000.0;

#[test]
fn the_picture_compares_the_simulation_with_the_closed_form() {
    let file = root().join("docs/pictures/power-criterion.toml");
    let e = Experiment::from_toml(&fs::read_to_string(&file).unwrap(), "power-criterion").unwrap();
    let m = Machine::of("jasper-lake");
    let (shallow, deep) = (1, 3);
    let saved = m.exit_us[deep] - m.exit_us[shallow];
    for row in &e.row {
        let words: Vec<&str> = row.name.split([' ', ',']).filter(|w| !w.is_empty()).collect();
        let (limit_w, work_us) = (words[1].parse::<f64>().unwrap(), words[3].parse::<f64>().unwrap() * 1e3);
        let running = |khz: f64| work_us * m.curve.last().unwrap().0 / khz;
        let share = |khz: f64| running(khz) / (WAIT_US + m.exit_us[deep] + running(khz));
        let point = m.limited(limit_w, &|khz| 2.0 + share(khz)).unwrap();
        let (run, used) = (running(point.khz), share(point.khz));
        // Of the thread's CPU while it waits, and of the one that has nothing to do.
        let extra = (2.0 - used) * point.states_w[shallow];
        let package_w = m.awake_w + (2.0 + used) * m.each_w;
        let budget = Budget { limit_w, idle_w: 0.0, package_w };
        let period = WAIT_US + m.exit_us[deep] + run;
        let clocks = budget.clock_pct(-extra).unwrap();
        let of_clock = row.fact.starts_with("clock");
        let mut expected = clocks.map(|pct| {
            if of_clock {
                100.0 + pct
            } else {
                100.0 * period / (period - saved - run + run / (1.0 + pct / 100.0))
            }
        });
        expected.sort_by(f64::total_cmp);
        let Some(Published::Range(published)) = row.published.get("C1") else {
            panic!("{}: expected a range", row.name)
        };
        for (a, b) in published.iter().zip(expected) {
            assert!((a - b).abs() < 0.006, "{}: {published:?}, computed {expected:?}", row.name);
        }
    }
}
