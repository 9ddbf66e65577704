// SPDX-License-Identifier: GPL-2.0-only
use std::path::Path;

use idlewise_platform::{Cluster, Platform, Roots, Severity, cpu_list, find, shipped};
use idlewise_report::{Format, Line, Report, Table, duration};

use crate::args::{PlatformArgs, PlatformCommand};
use crate::output::{Done, Failure, say};

pub(crate) fn run(a: &PlatformArgs) -> Done {
    match &a.what {
        PlatformCommand::List => list(),
        PlatformCommand::Show { platform, toml } => show(platform, *toml),
        PlatformCommand::Check { platforms } => check(platforms),
        PlatformCommand::Scan => scan(),
    }
}

fn get(name: &str) -> Result<Platform, Failure> {
    find(name).map_err(|e| Failure::Error(e.to_string()))
}

fn list() -> Done {
    let head = ["platform", "machine", "CPUs", "HZ", "idle states", "energy"];
    let mut table = Table::new("", head.map(str::to_owned).to_vec());
    table.text_columns = head.len();
    for (id, _) in shipped() {
        let p = get(id)?;
        let states: Vec<String> = p.clusters.iter().map(state_words).collect();
        let mut different = states.clone();
        different.dedup();
        let states = if different.len() == 1 { different.concat() } else { states.join(" | ") };
        let cpus = if p.any_cpu() { "any".to_owned() } else { p.cpu_count().to_string() };
        let grade = p.clusters.first().map_or("", |c| c.energy.unit());
        let hz = p.hz.map_or_else(|| "?".to_owned(), |hz| hz.to_string());
        table.rows.push(vec![p.id.clone(), p.name.clone(), cpus, hz, states, grade.to_owned()]);
    }
    let legend = "idle states: target residency in us; energy: mJ from measured powers, rel from break-even";
    let footer = vec![Line::plain(legend)];
    let report = Report { tables: vec![table], footer, ..Report::default() };
    say(&report.render(Format::Table, &()).map_err(|e| e.to_string())?)?;
    Ok(true)
}

fn state_words(c: &Cluster) -> String {
    let us = c.table.states().iter().map(|s| (s.target_residency_ns / 1000).to_string());
    us.collect::<Vec<_>>().join("/")
}

fn show(name: &str, toml: bool) -> Done {
    let p = get(name)?;
    if toml {
        say(&p.to_toml())?;
        return Ok(true);
    }
    let mut report = Report::default();
    report.preamble.push(Line::new("machine", format!("{}: {}", p.id, p.name)));
    let hz = p.hz.map_or_else(|| "not known".to_owned(), |hz| hz.to_string());
    let note = if p.hz_note.is_empty() { String::new() } else { format!(" ({})", p.hz_note) };
    report.preamble.push(Line::new("HZ", format!("{hz}{note}")));
    report.preamble.extend(p.notes.iter().map(|n| Line::new("note", n)));
    report.preamble.extend(p.sources.iter().map(|s| Line::new("source", s)));
    for c in &p.clusters {
        let cpus = if c.any_cpu { "any".to_owned() } else { cpu_list(&c.cpus) };
        let title = format!("cluster {}: CPUs {cpus}, capacity {}", c.name, c.capacity);
        let head =
            ["state", "exit latency", "of it entry", "target residency", "power", "transition", "kind"];
        let mut t = Table::new(title, head.map(str::to_owned).to_vec());
        for (i, (s, e)) in c.table.states().iter().zip(&c.energy.states).enumerate() {
            let kind = [(s.polling, "polling"), (s.disabled, "disabled")];
            let kind: Vec<&str> = kind.iter().filter(|k| k.0).map(|k| k.1).collect();
            let (power, transition) = match c.energy.unit() {
                "mJ" => (
                    format!("{:.2} mW", e.power_uw as f64 / 1e3),
                    format!("{:.2} uJ", e.transition_fj as f64 / 1e9),
                ),
                _ => (
                    format!("{:.3} rel", e.power_uw as f64 / 1e3),
                    format!("{:.6} rel s", e.transition_fj as f64 / 1e12),
                ),
            };
            t.rows.push(vec![
                format!("{i} {}", s.name),
                duration(s.exit_latency_ns as f64),
                duration(s.entry_ns as f64),
                duration(s.target_residency_ns as f64),
                power,
                transition,
                kind.join(" "),
            ]);
        }
        report.tables.push(t);
        report
            .footer
            .push(Line::new("energy", format!("{}: {}; {}", c.name, c.energy.grade.label(), c.energy.basis)));
    }
    say(&report.render(Format::Table, &()).map_err(|e| e.to_string())?)?;
    Ok(true)
}

fn check(names: &[String]) -> Done {
    let mut sound = true;
    for name in names {
        let p = get(name)?;
        let findings = p.check();
        for f in &findings {
            let word = match f.severity {
                Severity::Note => "note",
                Severity::Warning => "warning",
            };
            sound &= f.severity != Severity::Warning;
            say(&format!("{name}: {word}: {}: {}\n", f.place, f.message))?;
        }
        if findings.is_empty() {
            say(&format!("{name}: sound\n"))?;
        }
    }
    Ok(sound)
}

fn scan() -> Done {
    let p = Platform::scan(&Roots::below(Path::new("/"))).map_err(|e| e.to_string())?;
    say(&p.to_toml())?;
    Ok(true)
}
