// SPDX-License-Identifier: GPL-2.0-only
//! Does `docs/reference/platforms.md` show the machines that there are? `IDLEWISE_UPDATE_DOCS=1 cargo test --workspace --locked
//! --test cli platform_page::` writes it anew; read it then.

use std::fs;

use idlewise_platform::{Cluster, Platform, cpu_list, find, shipped};

use crate::house::root;

const HEAD: &str = "<!-- SPDX-License-Identifier: GPL-2.0-only -->
<!-- Generated from platforms/*.toml: IDLEWISE_UPDATE_DOCS=1 cargo test --workspace --locked --test cli platform_page:: -->
# Platforms

The machines that ship with idlewise. `idlewise platform show NAME` prints one in full: powers, clocks, notes. Another
machine is [a file](platform-format.md); `idlewise platform scan` writes that of the running one.

An idle state is shown as name target residency/exit latency in us. Energy is in mJ where the powers of the states were
measured, fitted to measured totals, or assumed (the notes say which), else relative (`rel`), which ranks governors and is never in
watts.

| platform | machine | CPUs | HZ | energy |
|---|---|---|---|---|
";

fn us(ns: i64) -> String {
    (ns as f64 / 1000.0).to_string()
}

fn states(c: &Cluster) -> String {
    let states = c.table.states().iter();
    let states =
        states.map(|s| format!("{} {}/{}", s.name, us(s.target_residency_ns), us(s.exit_latency_ns)));
    states.collect::<Vec<_>>().join(", ")
}

fn section(p: &Platform) -> String {
    let mut out = format!(
        "\n## {}\n\n{}.\n\n| cluster | CPUs | capacity | idle states |\n|---|---|---|---|\n",
        p.id, p.name
    );
    for c in &p.clusters {
        let cpus = if c.any_cpu { "any".to_owned() } else { cpu_list(&c.cpus) };
        let cpus = if c.threads() > 1 { format!("{cpus}, {} a core", c.threads()) } else { cpus };
        out += &format!("| {} | {cpus} | {} | {} |\n", c.name, c.capacity, states(c));
    }
    let list = |out: &mut String, what: &str, lines: &[String]| {
        for line in lines {
            *out +=
                &format!("* {what}: {}\n", line.replace('<', "\\<").replace('*', "\\*").replace('_', "\\_"));
        }
    };
    out.push('\n');
    list(&mut out, "note", &p.notes);
    list(&mut out, "source", &p.sources);
    out
}

fn page() -> String {
    let all: Vec<Platform> = shipped().iter().map(|(id, _)| find(id).unwrap()).collect();
    let mut out = HEAD.to_owned();
    for p in &all {
        let cpus = if p.any_cpu() { "any".to_owned() } else { p.cpu_count().to_string() };
        let hz = p.hz.map_or_else(|| "?".to_owned(), |hz| hz.to_string());
        let energy = p.clusters.first().map_or("", |c| c.energy.unit());
        let anchor: String = p.id.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect();
        out += &format!("| [{}](#{anchor}) | {} | {cpus} | {hz} | {energy} |\n", p.id, p.name);
    }
    all.iter().for_each(|p| out += &section(p));
    out
}

#[test]
fn the_page_of_platforms_has_the_machines_that_there_are() {
    let path = root().join("docs/reference/platforms.md");
    if std::env::var_os("IDLEWISE_UPDATE_DOCS").is_some() {
        fs::write(&path, page()).unwrap();
    }
    let shown = fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(shown, page(), "docs/reference/platforms.md is out of date: IDLEWISE_UPDATE_DOCS=1 writes it");
}
