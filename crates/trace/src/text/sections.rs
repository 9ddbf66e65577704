// SPDX-License-Identifier: GPL-2.0-only
//! Texts that do not stand in the order of time: the CPUs one after the other (`cat per_cpu/cpu*/trace`), or parts of one
//! recording that overlap. A section is a run of lines whose times do not go back. Where it is evident how the sections
//! belong together, they are merged.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_model::NoteId;
use xxhash_rust::xxh3::xxh3_128;

use super::line_kind::{LineKind, kind_of};
use super::lines::{Lines, clean};
use crate::meta::TraceMeta;

/// Text in more sections is in no order at all; each takes a buffer.
const MOST_SECTIONS: usize = 256;

/// A run of lines whose times do not go back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// Where it begins and ends in the text; the last one at its end, wherever that is.
    pub(super) from: u64,
    pub(super) to: u64,
    /// How many lines are before it.
    pub(super) lines: u64,
    /// The first and last time of each CPU, ns.
    cpus: BTreeMap<u32, (u64, u64)>,
    /// The first event's line, by its hash, and all times, ns.
    first_line: u128,
    first_ns: u64,
    last_ns: u64,
    /// What of each CPU other sections have, up to this time, ns.
    pub(super) seen_ns: BTreeMap<u32, u64>,
    /// CPUs of which the events just before it may be missing.
    pub(super) unknown_before: Vec<u32>,
}

/// How the lines of a text come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// In order of time, or in none that is known.
    AsTheyStand,
    /// The CPUs one after the other.
    ByCpu(Vec<Section>),
    /// Parts of one recording, which overlap.
    Overlapping(Vec<Section>),
    /// Parts that are apart in time, each with what all of them recorded before it unknown; the later ones first.
    Apart(Vec<Section>),
    /// Times go back this often, and nothing says how the parts belong together; so many recordings begin in the text.
    Mixed(u64, u64),
}

impl Arrangement {
    /// The sections that are to be merged; none where the lines come as they stand.
    pub(super) fn sections(&self) -> &[Section] {
        match self {
            Self::ByCpu(sections) | Self::Overlapping(sections) | Self::Apart(sections) => sections,
            Self::AsTheyStand | Self::Mixed(..) => &[],
        }
    }

    /// Says what is not as tracers write it.
    pub(super) fn tell(&self, meta: &mut TraceMeta) {
        let words = match self {
            Self::AsTheyStand => return,
            Self::ByCpu(_) => {
                "the CPUs stand one after the other in the text: events are sorted by time".to_owned()
            }
            Self::Overlapping(_) => {
                "parts of one recording overlap in the text: what two parts have counts once, and \
                                     events are sorted by time"
                    .to_owned()
            }
            Self::Apart(_) => {
                "a later part stands before an earlier one in the text: they are read in order of time, and what \
                 happened between them is not known"
                    .to_owned()
            }
            Self::Mixed(_, recordings) if *recordings > 1 => format!(
                "the text has {recordings} recordings of the same time, one after the other, and what goes back in time is \
                 left out: give each a file of its own"
            ),
            Self::Mixed(times, _) => format!(
                "times go back {times} times in the text, and lines do not show which parts belong together: events come \
                 in the order of the lines, so idle periods may be wrong; sort the lines by time"
            ),
        };
        let id = if matches!(self, Self::Mixed(..)) { NoteId::SameTime } else { NoteId::Reader };
        meta.note(id, words);
    }

    /// Of the text that `read` gives from its start.
    pub(super) fn of<'a>(read: impl Fn() -> Lines<'a>) -> Self {
        let mut found = Found::default();
        let mut lines = read();
        while let Some(place) = lines.advance() {
            found.line(clean(lines.get(place)), lines.offset(place), lines.number());
        }
        found.end(u64::MAX);
        if found.back == 0 {
            return Self::AsTheyStand;
        }
        let mut sections = found.sections;
        if found.many {
            return Self::Mixed(found.back, found.recordings);
        }
        let mut seen = BTreeSet::new();
        if sections.iter().flat_map(|section| section.cpus.keys()).all(|cpu| seen.insert(*cpu)) {
            return Self::ByCpu(sections);
        }
        sections.sort_by_key(|section| section.first_ns);
        let apart = |pair: &[Section]| pair[0].last_ns < pair[1].first_ns;
        if sections.windows(2).all(apart) {
            let all: BTreeSet<u32> =
                sections.iter().flat_map(|section| section.cpus.keys().copied()).collect();
            for section in sections.iter_mut().skip(1) {
                section.unknown_before = all.iter().copied().collect();
            }
            return Self::Apart(sections);
        }
        if !overlap(&sections, read()) {
            return Self::Mixed(found.back, found.recordings);
        }
        let mut seen_ns = BTreeMap::new();
        for section in &mut sections {
            section.seen_ns.clone_from(&seen_ns);
            for (cpu, (_, last)) in &section.cpus {
                let seen: &mut u64 = seen_ns.entry(*cpu).or_default();
                *seen = (*seen).max(*last);
            }
        }
        Self::Overlapping(sections)
    }
}

/// Whether each section but the first begins within an earlier one, with a line that is there, too.
fn overlap(sections: &[Section], mut lines: Lines<'_>) -> bool {
    let mut reach_ns = 0;
    for section in sections {
        if reach_ns > 0 && section.first_ns > reach_ns {
            return false;
        }
        reach_ns = reach_ns.max(section.last_ns);
    }
    let mut times: BTreeMap<u128, u64> = sections.iter().map(|section| (section.first_line, 0)).collect();
    while let Some(place) = lines.advance() {
        if let Some(n) = times.get_mut(&hash(clean(lines.get(place)))) {
            *n += 1;
        }
    }
    sections.iter().skip(1).all(|section| times.get(&section.first_line).is_some_and(|n| *n > 1))
}

fn hash(line: &[u8]) -> u128 {
    xxh3_128(line.trim_ascii())
}

/// What is found while a text is gone through.
#[derive(Default)]
struct Found {
    sections: Vec<Section>,
    /// How often times go back.
    back: u64,
    /// There are too many sections.
    many: bool,
    /// A recording begins before the next event.
    begins: Option<(u64, u64)>,
    /// How many recordings begin in the text.
    recordings: u64,
    last_ns: Option<u64>,
}

impl Found {
    fn line(&mut self, line: &[u8], offset: u64, number: u64) {
        let head = match kind_of(line) {
            LineKind::Event(head, ..) => head,
            LineKind::Begin => {
                self.recordings += u64::from(self.begins.is_none());
                self.begins.get_or_insert((offset, number - 1));
                return;
            }
            _ => return,
        };
        let back = self.last_ns.replace(head.ts_ns).is_some_and(|before| head.ts_ns < before);
        self.back += u64::from(back);
        let begins = self.begins.take();
        if self.many {
            return;
        }
        if back || begins.is_some() || self.sections.is_empty() {
            let (from, lines) = match begins {
                _ if self.sections.is_empty() => (0, 0),
                Some(begins) => begins,
                None => (offset, number - 1),
            };
            self.end(from);
            self.many = self.sections.len() >= MOST_SECTIONS;
            self.sections.push(Section {
                from,
                to: from,
                lines,
                cpus: BTreeMap::new(),
                first_line: hash(line),
                first_ns: head.ts_ns,
                last_ns: head.ts_ns,
                seen_ns: BTreeMap::new(),
                unknown_before: Vec::new(),
            });
        }
        let Some(section) = self.sections.last_mut() else { return };
        section.last_ns = head.ts_ns;
        section.cpus.entry(head.cpu).or_insert((head.ts_ns, head.ts_ns)).1 = head.ts_ns;
    }

    /// The last section ends here.
    fn end(&mut self, at: u64) {
        if let Some(section) = self.sections.last_mut() {
            section.to = at;
        }
    }
}
