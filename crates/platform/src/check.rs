// SPDX-License-Identifier: GPL-2.0-only
use crate::platform::CAPACITY_MAX;
use crate::{Clock, Cluster, EnergyGrade, EntryKind, Origin, Platform};

/// How much a [`Finding`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Legal and worth knowing.
    Note,
    /// Results may be wrong until somebody looks at it.
    Warning,
}

/// Something about a platform that a reader of results should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// Which part of the platform: a cluster, a state, or the platform itself.
    pub place: String,
    /// What was found and what it means.
    pub message: String,
}

impl Platform {
    /// What is legal but odd, or missing: in order of the file.
    #[must_use]
    pub fn check(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let mut say = |severity, place: &str, message: String| {
            found.push(Finding { severity, place: place.to_string(), message });
        };
        if self.hz.is_none() {
            let why = if self.hz_note.is_empty() { String::new() } else { format!(" ({})", self.hz_note) };
            say(
                Severity::Warning,
                &self.id,
                format!("HZ is not known{why}: take it from the trace's ticks or set `hz`"),
            );
        }
        if self.sources.is_empty() && matches!(self.origin, Origin::File(_) | Origin::Shipped) {
            say(Severity::Note, &self.id, "no `sources`: say where the numbers come from".to_string());
        }
        if self.clusters.iter().all(|c| c.capacity != CAPACITY_MAX) {
            say(
                Severity::Warning,
                &self.id,
                format!("no cluster has capacity {CAPACITY_MAX}: the fastest CPU defines the scale"),
            );
        }
        if self.clusters.iter().any(|c| c.energy.grade != self.clusters[0].energy.grade) {
            say(
                Severity::Warning,
                &self.id,
                "clusters have energy of different grades, so their sum has no meaning".to_string(),
            );
        }
        let with_clock = self.clusters.iter().filter(|c| c.clock.is_some()).count();
        if with_clock != 0 && with_clock != self.clusters.len() {
            say(
                Severity::Warning,
                &self.id,
                "some clusters have a clock, others none: those run at one speed in a simulation".to_string(),
            );
        }
        for (i, cluster) in self.clusters.iter().enumerate() {
            cluster_findings(cluster, &mut say);
            if let Some(clock) = &cluster.clock {
                clock_findings(cluster, clock, &mut say);
            }
            let begins = |o: &&Cluster| {
                o.table.len() > cluster.table.len() && o.table.states().starts_with(cluster.table.states())
            };
            let dump = matches!(self.origin, Origin::SysfsDump(_));
            let other =
                self.clusters.iter().enumerate().filter(|(k, _)| *k != i).map(|(_, o)| o).find(begins);
            if let Some(other) = other.filter(|_| dump) {
                say(
                    Severity::Warning,
                    &cluster.name,
                    format!("has only the first states of {}: was the dump cut short?", other.name),
                );
            }
        }
        found
    }
}

fn cluster_findings(cluster: &Cluster, say: &mut impl FnMut(Severity, &str, String)) {
    let states = cluster.table.states();
    for (i, s) in states.iter().enumerate() {
        let place = format!("{}, state {i} ({})", cluster.name, s.name);
        let us = |ns: i64| ns / 1000;
        if s.exit_latency_ns > s.target_residency_ns {
            let (l, r) = (us(s.exit_latency_ns), us(s.target_residency_ns));
            say(
                Severity::Note,
                &place,
                format!(
                    "exit latency {l} us is above target residency {r} us (legal; some machines have it)"
                ),
            );
        }
        if s.target_residency_ns < s.entry_ns {
            say(
                Severity::Warning,
                &place,
                "target residency is below the entry time: break-even cannot hold".to_string(),
            );
        }
        let above = i.checked_sub(1).and_then(|k| states.get(k));
        if let Some(above) = above {
            if above.target_residency_ns == s.target_residency_ns {
                say(
                    Severity::Note,
                    &place,
                    format!("same target residency as {}: only latency tells them apart", above.name),
                );
            }
            if above.exit_latency_ns > s.exit_latency_ns {
                say(
                    Severity::Note,
                    &place,
                    format!("wakes faster than the shallower {}: governors do not expect that", above.name),
                );
            }
        }
        let entry = cluster.info.get(i).map_or(EntryKind::Normal, |x| x.entry);
        if entry == EntryKind::Refused && s.disabled {
            let what = "disabled from the start, and every entry is refused where it is enabled";
            say(Severity::Note, &place, what.to_string());
        } else if entry == EntryKind::Refused {
            say(
                Severity::Note,
                &place,
                "on, and every entry is refused: the CPU stays awake, and its governor is asked again"
                    .to_string(),
            );
        } else if entry == EntryKind::S2idle {
            say(Severity::Note, &place, "only suspend-to-idle enters it: off for governors".to_string());
        } else if s.disabled {
            say(Severity::Note, &place, "disabled from the start".to_string());
        }
        if cluster.info.get(i).is_some_and(|x| x.never) {
            say(
                Severity::Note,
                &place,
                "residency is all ones: taken as one hour, entered only when nothing at all is due"
                    .to_string(),
            );
        }
        let power = |k: usize| cluster.energy.states.get(k).map_or(0, |e| e.power_uw);
        if i > 0 && power(i) > power(i - 1) {
            say(
                Severity::Warning,
                &place,
                "draws more than the state above it: going deeper never pays".to_string(),
            );
        }
    }
    if cluster.table.disabled_by_default().count_ones() as usize == states.len() {
        say(Severity::Warning, &cluster.name, "every state is disabled".to_string());
    }
    let shallowest = states.iter().position(|s| !s.polling);
    let power = shallowest.and_then(|i| cluster.energy.states.get(i)).map_or(0, |e| e.power_uw);
    if cluster.energy.active_power_uw < power {
        say(Severity::Warning, &cluster.name, "sleeping draws more than running".to_string());
    }
    if cluster.energy.grade != EnergyGrade::DerivedFromBreakEven && cluster.power.is_none() {
        say(Severity::Warning, &cluster.name, "energy has no published power behind it".to_string());
    }
}

fn clock_findings(cluster: &Cluster, clock: &Clock, say: &mut impl FnMut(Severity, &str, String)) {
    let place = format!("{}, clock", cluster.name);
    for (low, high) in clock.points.iter().zip(clock.points.iter().skip(1)) {
        if low.real_khz >= high.real_khz {
            let (low, high) = (low.khz, high.khz);
            say(Severity::Warning, &place, format!("{high} kHz is no faster than {low} kHz (real_khz)"));
        }
    }
    if let Some(p) = clock.points.iter().find(|p| p.capacity == 0) {
        say(Severity::Warning, &place, format!("the capacity at {} kHz rounds to 0", p.khz));
    }
    let shallowest = cluster.table.states().iter().position(|s| !s.polling);
    let sleeping = |p: &&crate::ClockPoint| {
        let power = shallowest.and_then(|i| p.energy.states.get(i)).map_or(0, |s| s.power_uw);
        p.active_uw() < power
    };
    if let Some(p) = clock.points.iter().find(sleeping) {
        say(Severity::Warning, &place, format!("sleeping draws more than running at {} kHz", p.khz));
    }
    let Some(power) = &cluster.power else {
        let message = "no power is published: running is estimated as f V^2, sleeping as V^2";
        return say(Severity::Note, &place, message.to_string());
    };
    let unused: Vec<String> = power
        .curve
        .iter()
        .filter(|r| !clock.points.iter().any(|p| p.khz == r.khz))
        .map(|r| r.khz.to_string())
        .collect();
    if !unused.is_empty() {
        let rows = unused.join(", ");
        say(
            Severity::Note,
            &place,
            format!("rows of the power curve that are no operating points: {rows} kHz"),
        );
    }
}
