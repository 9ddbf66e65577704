// SPDX-License-Identifier: GPL-2.0-only
//! The first walk through a file: where the bundles of each CPU are, and all that packets say beside events.

use std::collections::{BTreeMap, BTreeSet};

use idlewise_model::HealthKind;

use super::described::{Described, Functions, known};
use super::facts::Facts;
use super::packets::{Packets, Packing, Step, unpack};
use super::wire::{Fields, Value};
use crate::error::TraceError;
use crate::input::Input;
use crate::learned::Learned;
use crate::meta::TraceMeta;

/// The kernel's own limit is 8192.
const MOST_CPUS: u64 = 16_384;
/// So many times the file's length may come out of packed packets; recorders reach 20.
const MOST_PACKED: u64 = 200;
/// `TracePacket.sequence_flags`: the writer's tables begin anew.
const STATE_CLEARED: u64 = 1;

/// Where a bundle is: `len` bytes at `at` of the file, or of the unpacked block that is packed in `block` bytes there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) at: u64,
    pub(super) len: u32,
    /// Which state of the writer's tables it was written under.
    pub(super) epoch: u32,
    pub(super) block: Option<Block>,
}

/// A packed block of packets in the file, and where in it a bundle starts when it is unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) packing: Packing,
    pub(super) len: u32,
    pub(super) inner: u32,
}

/// A file that was walked through once.
#[derive(Default)]
pub(super) struct Index {
    pub(super) meta: TraceMeta,
    /// By CPU and writer, in the order of the file.
    pub(super) bundles: BTreeMap<(u32, u32), Vec<Place>>,
    pub(super) functions: Functions,
    /// The names of events and functions in the order of their ids.
    pub(super) event_names: Vec<String>,
    pub(super) function_names: Vec<String>,
    /// The events that Perfetto has messages for, by their field in `FtraceEvent`.
    pub(super) known: BTreeMap<u32, Described>,
    /// Events described in the file, by writer and field; `None` for a number that was described in two ways.
    pub(super) generic: BTreeMap<(u32, u32), Option<Described>>,
    /// What all packed blocks come to, bytes.
    pub(super) unpacked: u64,
}

struct Walk<'a> {
    index: Index,
    /// Gives events and functions their ids.
    ids: Learned,
    facts: Facts,
    /// The state of each writer's tables.
    epochs: BTreeMap<u32, u32>,
    last_epoch: u32,
    granted: u64,
    input: &'a Input,
}

/// What a packet says about itself.
#[derive(Default)]
struct Packet<'a> {
    writer: u32,
    machine: u64,
    /// Its time, ns, on the clock of its source.
    at_ns: u64,
    sys_stats: Option<&'a [u8]>,
    cleared: bool,
    interned: Option<&'a [u8]>,
    /// The bytes behind their place in the packet.
    bundle: Option<(u64, &'a [u8])>,
    packed: Option<(Packing, u64, &'a [u8])>,
}

pub(super) fn read(input: &Input) -> Result<Index, TraceError> {
    let mut index = Index { known: known().collect(), ..Index::default() };
    index.meta.hash = input.hash()?;
    index.meta.bytes = input.len();
    let granted = input.len().saturating_mul(MOST_PACKED).saturating_add(1 << 20);
    let mut walk = Walk {
        index,
        ids: Learned::default(),
        facts: Facts::default(),
        epochs: BTreeMap::new(),
        last_epoch: 0,
        granted,
        input,
    };
    let names: Vec<String> = walk.index.known.values().map(|d| d.full.clone()).collect();
    for name in names {
        walk.event_id(&name);
    }
    walk.file();
    Ok(walk.finish())
}

impl Walk<'_> {
    /// Gives the event "system:name" an id.
    fn event_id(&mut self, name: &str) -> u16 {
        let id = self.ids.event_id(name);
        if usize::from(id) == self.index.event_names.len() {
            self.index.event_names.push(name.to_owned());
        }
        id
    }

    /// The file itself names the event "system:name": it can hold such events. That Perfetto has a message for an event says
    /// nothing about a file.
    fn event_name(&mut self, name: &str) {
        let id = self.event_id(name);
        self.index.meta.event_names.entry(id).or_insert_with(|| name.to_owned());
    }

    fn damage(&mut self, kind: HealthKind, place: impl FnOnce() -> String) {
        self.index.meta.health.add(kind, 1, place);
    }

    fn file(&mut self) {
        let mut packets = Packets::new(self.input);
        loop {
            match packets.next() {
                Step::Packet { at, body } => self.packet(body, at, None),
                Step::Skipped { at, bytes } => {
                    self.damage(HealthKind::Ignored, || {
                        format!("{bytes} bytes at byte {at}: no packet, or too long a one")
                    });
                }
                Step::CutOff(at) => {
                    self.damage(HealthKind::Truncated, || format!("the packet at byte {at}"));
                }
                Step::Broken(at) => {
                    let left = self.input.len() - at;
                    self.damage(HealthKind::BadPage, || {
                        format!("no packet at byte {at}: the last {left} bytes are lost")
                    });
                }
                Step::End => break,
            }
        }
    }

    /// Reads the packet with the bytes `body`, which start at `at` of the file or in an unpacked block.
    fn packet(&mut self, body: &[u8], at: u64, block: Option<(Packing, u32, u64)>) {
        let mut packet = Packet::default();
        let mut fields = Fields::new(body);
        while let Some((number, value)) = fields.next() {
            let offset = (body.len() - fields.rest().len() - value.bytes().len()) as u64;
            match (number, value) {
                (1, Value::Bytes(bytes)) => packet.bundle = Some((offset, bytes)),
                (7, Value::Bytes(bytes)) => packet.sys_stats = Some(bytes),
                (8, _) => packet.at_ns = value.number(),
                (10, _) => packet.writer = value.number() as u32,
                (12, Value::Bytes(bytes)) => packet.interned = Some(bytes),
                (13, _) => packet.cleared |= value.number() & STATE_CLEARED != 0,
                (41, _) => packet.cleared |= value.number() != 0,
                (50, Value::Bytes(bytes)) => packet.packed = Some((Packing::Deflate, offset, bytes)),
                (98, _) => packet.machine = value.number(),
                (133, Value::Bytes(bytes)) => packet.packed = Some((Packing::Zstd, offset, bytes)),
                _ => self.facts.packet_field(number, value),
            }
        }
        if fields.broken() {
            self.damage(HealthKind::BadPage, || format!("the packet at byte {at} does not fit its length"));
        }
        if packet.machine != 0 {
            // Its CPUs have the same numbers as this machine's.
            self.facts.other_machine();
            return;
        }
        if let Some(stats) = packet.sys_stats {
            self.facts.sys_stats(stats, packet.at_ns);
        }
        if packet.cleared || !self.epochs.contains_key(&packet.writer) {
            self.last_epoch = self.last_epoch.saturating_add(1);
            self.epochs.insert(packet.writer, self.last_epoch);
        }
        let epoch = self.epochs.get(&packet.writer).copied().unwrap_or(0);
        if let Some(interned) = packet.interned {
            self.interned(interned, epoch);
        }
        if let Some((offset, bundle)) = packet.bundle {
            let inner = (at + offset) as u32;
            let place = Place {
                at: block.map_or(at + offset, |(_, _, file_at)| file_at),
                len: bundle.len() as u32,
                epoch,
                block: block.map(|(packing, len, _)| Block { packing, len, inner }),
            };
            self.bundle(bundle, packet.writer, place);
        }
        if let Some((packing, offset, bytes)) = packet.packed {
            if block.is_some() {
                self.damage(HealthKind::Ignored, || {
                    format!("packed packets within packed ones, near byte {at}")
                });
            } else {
                self.block(packing, bytes, at + offset);
            }
        }
    }

    fn block(&mut self, packing: Packing, packed: &[u8], at: u64) {
        let block = match unpack(packing, packed, &mut self.granted) {
            Ok(block) => block,
            Err(why) => {
                self.damage(HealthKind::BadPage, || format!("the packed packets at byte {at}: {why}"));
                return;
            }
        };
        self.facts.packed(packing);
        self.index.unpacked = self.index.unpacked.saturating_add(block.len() as u64);
        let mut fields = Fields::new(&block);
        while let Some((number, value)) = fields.next() {
            if let (1, Value::Bytes(body)) = (number, value) {
                let inner = (block.len() - fields.rest().len() - body.len()) as u64;
                self.packet(body, inner, Some((packing, packed.len() as u32, at)));
            }
        }
        if fields.broken() {
            self.damage(HealthKind::BadPage, || format!("the packed packets at byte {at} break off"));
        }
    }

    /// Reads `InternedData`: 26 are the kernel's symbols, each an `InternedString` of a number (1) and a text (2).
    fn interned(&mut self, message: &[u8], epoch: u32) {
        for (number, value) in Fields::new(message) {
            if number != 26 {
                continue;
            }
            let (mut iid, mut name) = (0, String::new());
            for (number, value) in Fields::new(value.bytes()) {
                match number {
                    1 => iid = value.number(),
                    2 => name = value.text(),
                    _ => {}
                }
            }
            let id = self.ids.function_id(&name);
            if id > self.index.function_names.len() as u64 {
                self.index.function_names.push(name);
            }
            let known = *self.index.functions.entry((epoch, iid)).or_insert(id);
            if known != id {
                self.damage(HealthKind::Ignored, || format!("a second name of symbol {iid}"));
            }
        }
    }

    /// Notes a bundle and reads what it says beside events.
    fn bundle(&mut self, message: &[u8], writer: u32, place: Place) {
        let (mut cpu, mut clock, mut useful) = (0, 0, false);
        let mut fields = Fields::new(message);
        for (number, value) in fields.by_ref() {
            match (number, value) {
                (1, _) => cpu = value.number(),
                (2 | 4, Value::Bytes(bytes)) => useful |= !bytes.is_empty(),
                (3, _) => useful |= value.number() != 0,
                (5, _) => clock = value.number(),
                // The clocks at the bundle's start and end of reading, of use for merging other sources only.
                (6 | 7 | 9 | 10, _) => {}
                (8, Value::Bytes(bytes)) => self.kernel_error(bytes, cpu),
                (11, Value::Bytes(bytes)) => self.describe(bytes, writer),
                (512, Value::Bytes(_)) => self.damage(HealthKind::BadPage, || {
                    format!("CPU {cpu}: a page that the recorder could not read")
                }),
                _ => self.facts.bundle_field(number),
            }
        }
        if fields.broken() || cpu >= MOST_CPUS {
            let at = place.at;
            self.damage(HealthKind::BadPage, || {
                format!("the bundle at byte {at}: of CPU {cpu}, or broken off")
            });
        }
        if cpu >= MOST_CPUS {
            return;
        }
        self.facts.bundle(clock, writer);
        let places = self.index.bundles.entry((cpu as u32, writer)).or_default();
        if useful {
            places.push(place);
        }
    }

    /// Reads a `FtraceError`: a time (1) and a status (2).
    fn kernel_error(&mut self, message: &[u8], cpu: u64) {
        let status = Fields::new(message).filter(|(n, _)| *n == 2).map(|(_, v)| v.number()).last();
        // Status 1 is "OK".
        if let Some(status) = status.filter(|s| *s != 1) {
            self.damage(HealthKind::BadPage, || {
                format!("CPU {cpu}: the recorder met error {status} in the kernel's buffer")
            });
        }
    }

    /// Reads a `GenericEventDescriptor`: the event's field (1), its description (2), its system (3).
    fn describe(&mut self, message: &[u8], writer: u32) {
        let (mut number, mut descriptor, mut system) = (0, &[][..], String::new());
        for (field, value) in Fields::new(message) {
            match field {
                1 => number = value.number() as u32,
                2 => descriptor = value.bytes(),
                3 => system = value.text(),
                _ => {}
            }
        }
        let Some(described) = Described::from_descriptor(&system, descriptor) else {
            self.damage(HealthKind::BadEvent, || format!("the description of event {number}"));
            return;
        };
        self.event_name(&described.full);
        let twice = format!("two descriptions of event {number}; its events are not understood");
        let entry = self.index.generic.entry((writer, number)).or_insert_with(|| Some(described.clone()));
        if entry.as_ref().is_some_and(|known| *known != described) {
            *entry = None;
            self.damage(HealthKind::Ignored, || twice);
        }
    }

    fn finish(mut self) -> Index {
        for name in std::mem::take(&mut self.facts.asked) {
            // "sched/sched_switch"; a whole system is "sched/*".
            if let Some((system, event)) = name.split_once('/').filter(|(_, event)| *event != "*") {
                self.event_name(&format!("{system}:{event}"));
            }
        }
        let mut index = self.index;
        let cpus: BTreeSet<u32> = index.bundles.keys().map(|(cpu, _)| *cpu).collect();
        index.meta.cpus = cpus.into_iter().collect();
        self.facts.tell(&mut index.meta);
        index
    }
}
