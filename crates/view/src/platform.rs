// SPDX-License-Identifier: GPL-2.0-only
//! Descriptions of machines as text.

use idlewise_platform::{
    Clock, ClockPoint, ClockPolicy, Cluster, EnergyModel, Finding, Kernel, Platform, Severity, SysfsDump,
    SysfsState, cpu_list,
};
use idlewise_report::{Line, Report, Table, UNKNOWN, duration};

/// Machines, a row each.
#[must_use]
pub fn platforms(all: &[Platform]) -> Report {
    let head = ["platform", "machine", "CPUs", "HZ", "idle states", "energy", "limit"];
    let mut table = Table::new("", head.map(str::to_owned).to_vec());
    table.text_columns = head.len();
    for p in all {
        let states: Vec<String> = p.clusters.iter().map(state_words).collect();
        let mut different = states.clone();
        different.dedup();
        let states = if different.len() == 1 { different.concat() } else { states.join(" | ") };
        let cpus = if p.any_cpu() { "any".to_owned() } else { p.cpu_count().to_string() };
        let grade = p.clusters.first().map_or("", |c| c.energy.unit());
        let hz = p.hz.map_or_else(|| UNKNOWN.to_owned(), |hz| hz.to_string());
        // The longest limit binds first.
        let first = p.limits.as_ref().and_then(|l| l.limits.named().next());
        let limit = first.map_or_else(String::new, |(_, l)| format!("{} W", l.power_uw as f64 / 1e6));
        table.rows.push(vec![p.id.clone(), p.name.clone(), cpus, hz, states, grade.to_owned(), limit]);
    }
    let legend = "idle states: target residency in us; energy: mJ from powers in watts, measured, fitted or assumed, rel from break-even; limit: PL1 of the package";
    let footer = vec![Line::plain(legend)];
    Report { tables: vec![table], footer, ..Report::default() }
}

/// What the machine draws besides CPUs, and what limits that; where the platform says something.
fn budget_lines(p: &Platform) -> Vec<Line> {
    let mut out = Vec::new();
    let Some(cluster) = p.clusters.first() else { return out };
    if let Some(k) = &p.package {
        let mut words = format!("{} while a CPU is awake", power(cluster, k.awake_uw));
        for level in &k.levels {
            words += &format!(", {} from {} on", power(cluster, level.power_uw), level.from);
        }
        let more = [(k.each_awake_uw, "for each CPU that is awake"), (k.always_uw, "always")];
        for (uw, what) in more.iter().filter(|(uw, _)| *uw > 0) {
            words += &format!("; {} more {what}", power(cluster, *uw));
        }
        out.push(Line::new("package", words));
    }
    if let Some(l) = &p.limits {
        let limit = |(name, l): (&str, idlewise_platform::Limit)| {
            let clamp = if l.clamp { ", clamped" } else { "" };
            format!("{name} {} over {}{clamp}", power(cluster, l.power_uw), duration(l.window_ns as f64))
        };
        let all: Vec<String> = l.limits.named().map(limit).collect();
        let step = duration(l.step_ns as f64);
        out.push(Line::new("limits", format!("{}; {step} a step of the clock", all.join("; "))));
    }
    if let Some(t) = &p.thermal {
        let degrees = |mc: i64| format!("{:.1} degrees C", mc as f64 / 1e3);
        let trip = t.heat.trip_mc.map_or_else(String::new, |mc| format!(", trip at {}", degrees(mc)));
        let (rise, window) = (t.heat.mk_per_w as f64 / 1e3, duration(t.heat.window_ns as f64));
        let words = format!("{} and {rise:.2} K/W over {window}{trip}", degrees(t.heat.ambient_mc));
        out.push(Line::new("thermal", words));
    }
    out
}

fn state_words(c: &Cluster) -> String {
    let us = c.table.states().iter().map(|s| (s.target_residency_ns / 1000).to_string());
    us.collect::<Vec<_>>().join("/")
}

/// A machine: its idle states and clocks, cluster by cluster.
#[must_use]
pub fn platform(p: &Platform) -> Report {
    let mut report = Report::default();
    report.preamble.push(Line::new("machine", format!("{}: {}", p.id, p.name)));
    let hz = p.hz.map_or_else(|| "not known".to_owned(), |hz| hz.to_string());
    let note = if p.hz_note.is_empty() { String::new() } else { format!(" ({})", p.hz_note) };
    report.preamble.push(Line::new("HZ", format!("{hz}{note}")));
    report.preamble.extend(budget_lines(p));
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
            let flags = c.info.get(i).into_iter().flat_map(|info| &info.flags).map(|flag| flag.word());
            let kind: Vec<&str> = kind.iter().filter(|k| k.0).map(|k| k.1).chain(flags).collect();
            let transition = match c.energy.unit() {
                "mJ" => format!("{:.2} uJ", e.transition_fj as f64 / 1e9),
                _ => format!("{:.6} rel s", e.transition_fj as f64 / 1e12),
            };
            t.rows.push(vec![
                format!("{i} {}", s.name),
                duration(s.exit_latency_ns as f64),
                duration(s.entry_ns as f64),
                duration(s.target_residency_ns as f64),
                power(c, e.power_uw),
                transition,
                kind.join(" "),
            ]);
        }
        report.tables.push(t);
        match &c.clock {
            Some(clock) => clock_lines(c, clock, &mut report),
            None => {
                let words = format!("{}: no frequency table; a simulation runs it at one speed", c.name);
                report.footer.push(Line::new("clock", words));
            }
        }
        report
            .footer
            .push(Line::new("energy", format!("{}: {}; {}", c.name, c.energy.grade.label(), c.energy.basis)));
    }
    report
}

/// What a text shows of idle states where it is too little for a platform; `why` says what is missing.
#[must_use]
pub fn states(name: &str, dump: &SysfsDump, why: &str) -> Report {
    let mut report = Report::default();
    report.preamble.push(Line::new("states", format!("of {name}, as far as it shows them: no platform")));
    report.preamble.push(Line::new("why", why));
    report.preamble.extend(dump.driver.iter().map(|d| Line::new("driver", d)));
    report.preamble.extend(dump.governor.iter().map(|g| Line::new("governor", g)));
    let mut alike: Vec<(Vec<String>, Vec<Vec<String>>)> = Vec::new();
    for (cpu, states) in &dump.cpus {
        let us = |us: Option<u64>| us.map_or_else(|| UNKNOWN.to_owned(), |us| duration(us as f64 * 1e3));
        let row = |(number, s): (&usize, &SysfsState)| {
            let name = s.name.as_deref().unwrap_or(UNKNOWN);
            vec![
                if dump.unnumbered { name.to_owned() } else { format!("{number} {name}") },
                us(s.latency_us),
                us(s.residency_us),
                if s.disable.is_some_and(|d| d != 0) { "disabled".to_owned() } else { String::new() },
                s.desc.clone().unwrap_or_else(|| UNKNOWN.to_owned()),
            ]
        };
        let rows: Vec<Vec<String>> = states.iter().map(row).collect();
        let cpu = cpu.map_or_else(|| "not named".to_owned(), |c| c.to_string());
        match alike.iter_mut().find(|(_, r)| *r == rows) {
            Some((cpus, _)) => cpus.push(cpu),
            None => alike.push((vec![cpu], rows)),
        }
    }
    for (cpus, rows) in alike {
        let numbers: Vec<u32> = cpus.iter().filter_map(|c| c.parse().ok()).collect();
        let shown = if numbers.is_empty() { cpus.join(", ") } else { cpu_list(&numbers) };
        let head = ["state", "exit latency", "target residency", "kind", "description"];
        let mut t = Table::new(format!("CPUs {shown}"), head.map(str::to_owned).to_vec());
        t.rows = rows;
        report.tables.push(t);
    }
    report
}

fn power(c: &Cluster, uw: u64) -> String {
    match c.energy.unit() {
        "mJ" => format!("{:.2} mW", uw as f64 / 1e3),
        _ => format!("{:.3} rel", uw as f64 / 1e3),
    }
}

/// The clock of a cluster: a table of its points, the rest in a line.
fn clock_lines(c: &Cluster, clock: &Clock, report: &mut Report) {
    let model = EnergyModel::new(c, Kernel::V6_12);
    let states = || c.table.states().iter().enumerate();
    let shallowest = states().find(|(_, s)| !s.polling).or_else(|| states().next());
    let name = shallowest.map_or("", |(_, s)| &*s.name);
    let idle = |p: &ClockPoint| shallowest.and_then(|(i, _)| p.energy.states.get(i)).map(|s| s.power_uw);
    let head = ["clock", "voltage", "capacity", "running", name, "shared", "EM cost", "kind"];
    let mhz = |khz: u64| format!("{} MHz", khz as f64 / 1e3);
    let row = |(i, p): (usize, &ClockPoint)| {
        let state = model.as_ref().and_then(|m| m.states.get(i));
        let real = if p.real_khz == p.khz { String::new() } else { format!("really {}", mhz(p.real_khz)) };
        let inefficient = if state.is_some_and(|s| s.inefficient) { "inefficient" } else { "" };
        let kind: Vec<&str> = [real.as_str(), inefficient].into_iter().filter(|k| !k.is_empty()).collect();
        vec![
            mhz(p.khz),
            p.volt_uv.map_or(String::new(), |uv| format!("{:.3} V", uv as f64 / 1e6)),
            p.capacity.to_string(),
            power(c, p.active_uw()),
            idle(p).map_or(String::new(), |uw| power(c, uw)),
            p.shared.as_ref().map_or(String::new(), |s| power(c, s.active_power_uw)),
            state.map_or(String::new(), |s| s.cost.to_string()),
            kind.join(", "),
        ]
    };
    let rows: Vec<Vec<String>> = clock.points.iter().enumerate().map(row).collect();
    // Only the columns in which something stands.
    let used = |i: &usize| rows.iter().any(|r| r.get(*i).is_some_and(|cell| !cell.is_empty()));
    let used: Vec<usize> = (0..head.len()).filter(used).collect();
    let pick = |cells: &[String]| used.iter().filter_map(|&i| cells.get(i).cloned()).collect::<Vec<_>>();
    let mut t = Table::new(format!("clock of {}", c.name), pick(&head.map(str::to_owned)));
    t.rows = rows.iter().map(|r| pick(r)).collect();
    report.tables.push(t);
    let us = |us: Option<u64>, what: &str| us.map(|us| format!("{what} {}", duration(us as f64 * 1e3)));
    let words = [
        Some(match clock.policy {
            ClockPolicy::Cluster => "one for the cluster".to_owned(),
            ClockPolicy::Cpu => "one for each CPU".to_owned(),
        }),
        us(Some(clock.transition_latency_ns / 1000), "a change takes"),
        us(clock.transition_delay_us, "time between changes at least"),
        Some(if clock.fast_switch { "set by the scheduler itself" } else { "set by a thread" }.to_owned()),
        clock.base_khz.map(|khz| format!("base clock {}", mhz(khz))),
        (!clock.turbo.is_empty()).then(|| {
            let all = clock.turbo.iter().map(|t| format!("{} with {} active cores", mhz(t.khz), t.cores));
            format!("turbo {}", all.collect::<Vec<_>>().join(", "))
        }),
        Some(
            if clock.invariant { "utilisation is scaled by it" } else { "utilisation is not scaled by it" }
                .to_owned(),
        ),
        us(clock.up_rate_limit_us, "schedutil's limit up"),
        us(clock.down_rate_limit_us, "down"),
        (model.as_ref().is_some_and(|m| m.computed))
            .then(|| "energy model from voltage, clock and coefficient".to_owned()),
        (c.power.is_none()).then(|| "running estimated as f V^2, sleeping as V^2".to_owned()),
    ];
    let words = words.into_iter().flatten().collect::<Vec<_>>().join(", ");
    report.footer.push(Line::new("clock", format!("{}: {words}; {}", c.name, clock.source)));
}

/// What is wrong with the machine that is called `name`, a line each; or that nothing is.
#[must_use]
pub fn findings(name: &str, all: &[Finding]) -> Vec<String> {
    let line = |f: &Finding| {
        let word = match f.severity {
            Severity::Note => "note",
            Severity::Warning => "warning",
        };
        format!("{name}: {word}: {}: {}", f.place, f.message)
    };
    if all.is_empty() { vec![format!("{name}: sound")] } else { all.iter().map(line).collect() }
}
