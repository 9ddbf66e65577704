// SPDX-License-Identifier: GPL-2.0-only
use std::fmt::Write as _;

use crate::from_toml::FORMAT;
use crate::platform::NEVER_US;
use crate::{Clock, Cluster, EnergyGrade, EntryKind, Flag, Platform, PowerData, Shared, cpu_list};

impl Platform {
    /// The platform as a file that [`Platform::from_toml`] reads back to the same platform (its origin apart).
    #[must_use]
    pub fn to_toml(&self) -> String {
        let mut out = Out(String::new());
        out.raw("format", FORMAT);
        out.text("id", &self.id);
        out.text("name", &self.name);
        if let Some(hz) = self.hz {
            out.raw("hz", hz);
        }
        out.some_text("hz_note", &self.hz_note);
        if self.one_cache {
            out.raw("one_cache", true);
        }
        if self.one_thread {
            out.raw("one_thread", true);
        }
        out.texts("notes", &self.notes);
        out.texts("sources", &self.sources);
        if let Some((costs, source)) = &self.costs {
            out.line("\n[costs]");
            for (key, value) in costs.keys() {
                out.raw(key, value);
            }
            out.text("source", source);
        }
        if let Some(battery) = &self.battery {
            out.line("\n[battery]");
            out.raw("voltage_mv", battery.voltage_mv);
            out.some_raw("base_mw", battery.base_mw);
            out.raw("sample_ms", battery.sample_ms);
            out.raw("step_ua", battery.step_ua);
            out.text("source", &battery.source);
        }
        if let Some(package) = &self.package {
            out.line("\n[package]");
            out.raw("awake", package.awake_uw);
            if package.always_uw != 0 {
                out.raw("always", package.always_uw);
            }
            if package.each_awake_uw != 0 {
                out.raw("each_awake", package.each_awake_uw);
            }
            if let Some(from) = &package.from {
                out.text("from", from);
            }
            if !package.levels.is_empty() {
                out.line("level = [");
                for level in &package.levels {
                    out.line(&format!(
                        "    {{ from = {}, power = {} }},",
                        quoted(&level.from),
                        level.power_uw
                    ));
                }
                out.line("]");
            }
            out.text("source", &package.source);
        }
        if let Some(limits) = &self.limits {
            out.line("\n[limits]");
            for (name, l) in limits.limits.named() {
                let (uw, us) = (l.power_uw, l.window_ns / 1000);
                out.line(&format!("{name} = {{ power = {uw}, window_us = {us}, clamp = {} }}", l.clamp));
            }
            out.raw("step_us", limits.step_ns / 1000);
            out.text("source", &limits.source);
        }
        if let Some(thermal) = &self.thermal {
            let heat = &thermal.heat;
            out.line("\n[thermal]");
            out.raw("ambient_mc", heat.ambient_mc);
            out.raw("resistance_mk_per_w", heat.mk_per_w);
            out.raw("capacity_mj_per_k", thermal.capacity_mj_per_k);
            if let Some(trip) = heat.trip_mc {
                out.raw("trip_mc", trip);
            }
            if let Some(l) = heat.leakage {
                let (uw, at, doubles) = (l.uw, l.at_mc, l.doubles_mk);
                out.raw("leakage", format!("{{ power = {uw}, at_mc = {at}, doubles_mk = {doubles} }}"));
            }
            out.text("source", &thermal.source);
        }
        for c in &self.clusters {
            out.cluster(c);
        }
        out.0
    }
}

struct Out(String);

impl Out {
    fn line(&mut self, text: &str) {
        self.0 += text;
        self.0.push('\n');
    }

    fn raw(&mut self, key: &str, value: impl std::fmt::Display) {
        self.line(&format!("{key} = {value}"));
    }

    fn some_raw(&mut self, key: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.raw(key, value);
        }
    }

    fn text(&mut self, key: &str, value: &str) {
        self.raw(key, quoted(value));
    }

    fn some_text(&mut self, key: &str, value: &str) {
        if !value.is_empty() {
            self.text(key, value);
        }
    }

    fn texts(&mut self, key: &str, values: &[String]) {
        if values.is_empty() {
            return;
        }
        self.line(&format!("{key} = ["));
        for v in values {
            self.line(&format!("    {},", quoted(v)));
        }
        self.line("]");
    }

    fn cluster(&mut self, c: &Cluster) {
        self.line("\n[[cluster]]");
        self.text("name", &c.name);
        if c.any_cpu {
            self.text("cpus", "all");
            self.raw("count", c.cpus.len());
        } else {
            self.text("cpus", &cpu_list(&c.cpus));
        }
        self.raw("capacity", c.capacity);
        self.some_raw("speed", c.speed.map(u64::from));
        if c.threads() > 1 {
            self.raw("threads", c.threads());
            let speeds = c.thread_speed.iter().zip(1..).skip(1);
            let speeds: Vec<String> = speeds.map(|(speed, busy)| format!("{busy} = {speed}")).collect();
            self.raw("thread_speed", format!("{{ {} }}", speeds.join(", ")));
        }
        self.some_raw("cache_cpus", c.cache_cpus.map(|n| n as u64));
        self.some_text("source", &c.source);
        for (s, info) in c.table.states().iter().zip(&c.info) {
            self.line("\n[[cluster.state]]");
            self.text("name", &s.name);
            self.some_text("desc", &info.desc);
            self.raw("exit_latency_us", s.exit_latency_ns / 1000);
            self.raw("residency_us", if info.never { NEVER_US } else { s.target_residency_ns / 1000 });
            if s.entry_ns != 0 {
                self.raw("entry_us", s.entry_ns / 1000);
            }
            if s.polling {
                self.raw("polling", true);
            }
            if info.entry != EntryKind::Normal {
                self.text("entry", info.entry.word());
            }
            if s.disabled && info.entry != EntryKind::S2idle {
                self.raw("disabled", true);
            }
            if !info.flags.is_empty() {
                let words: Vec<_> = info.flags.iter().map(|f: &Flag| quoted(f.word())).collect();
                self.raw("flags", format!("[{}]", words.join(", ")));
            }
            if let Some(ns) = info.measured_wake_ns {
                self.raw("measured_wake_ns", ns);
            }
            if info.refill_ns != 0 {
                self.raw("refill_us", info.refill_ns / 1000);
            }
            if let Some(ns) = info.transition_ns {
                self.raw("transition_us", ns / 1000);
            }
        }
        if let Some(clock) = &c.clock {
            self.clock(clock, c.power.as_ref());
        }
        if let Some(power) = &c.power {
            self.power(power);
        }
    }

    fn clock(&mut self, c: &Clock, power: Option<&PowerData>) {
        self.line("\n[cluster.clock]");
        self.raw("transition_latency_us", c.transition_latency_ns / 1000);
        self.some_raw("transition_delay_us", c.transition_delay_us);
        self.raw("fast_switch", c.fast_switch);
        self.raw("invariant", c.invariant);
        self.text("policy", c.policy.word());
        self.some_raw("up_rate_limit_us", c.up_rate_limit_us);
        self.some_raw("down_rate_limit_us", c.down_rate_limit_us);
        self.some_raw("max_khz", c.max_khz);
        self.some_raw("dynamic_power_coefficient", c.coefficient);
        self.some_raw("base_khz", c.base_khz);
        if !c.turbo.is_empty() {
            let rows: Vec<String> =
                c.turbo.iter().map(|t| format!("{{ cores = {}, khz = {} }}", t.cores, t.khz)).collect();
            self.raw("turbo", format!("[{}]", rows.join(", ")));
        }
        if let Some(from) = &c.inactive_from {
            self.text("inactive_from", from);
        }
        self.text("source", &c.source);
        if power.is_some_and(|p| c.repeats(p)) {
            return;
        }
        self.line("points = [");
        for p in &c.points {
            let mut text = format!("    {{ khz = {}", p.khz);
            if p.real_khz != p.khz {
                let _ = write!(text, ", real_khz = {}", p.real_khz);
            }
            if let Some(volt) = p.volt_uv {
                let _ = write!(text, ", volt_uv = {volt}");
            }
            self.line(&(text + " },"));
        }
        self.line("]");
    }

    fn power(&mut self, p: &PowerData) {
        self.line("\n[cluster.power]");
        let unit = match p.grade {
            EnergyGrade::Measured => "uw",
            EnergyGrade::Fitted => "uw-fitted",
            EnergyGrade::Assumed => "uw-assumed",
            EnergyGrade::PublishedRelative | EnergyGrade::DerivedFromBreakEven => "rel/1000",
        };
        self.text("unit", unit);
        self.text("what", &p.what);
        self.text("source", &p.source);
        self.raw("at_khz", p.at_khz);
        if let Some(states) = &p.states {
            self.raw("states", format!("{states:?}"));
        }
        if let Some(states) = &p.shared_states {
            self.raw("shared_states", format!("{states:?}"));
        }
        if p.polling != 1000 {
            self.raw("polling", p.polling);
        }
        if p.shared == Shared::Split {
            self.text("shared", "split");
        }
        self.line("curve = [");
        for row in &p.curve {
            let mut text = format!("    {{ khz = {}, active = {}", row.khz, row.active);
            if let Some(states) = &row.states {
                let _ = write!(text, ", states = {states:?}");
            }
            if let Some(shared) = row.shared {
                let _ = write!(text, ", shared = {shared}");
            }
            self.line(&(text + " },"));
        }
        self.line("]");
    }
}

/// A TOML basic string.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            '\t' => out += "\\t",
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out + "\""
}
