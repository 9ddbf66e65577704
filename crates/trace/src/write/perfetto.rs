// SPDX-License-Identifier: GPL-2.0-only
//! Events as Perfetto's bundles, and tracks of slices beside them. Numbers are those of [`crate::perfetto`].

use std::collections::BTreeMap;
use std::io::{self, Write};

use idlewise_model::{Event, EventKind};

use super::Names;
use super::proto::Proto;
use super::row::{Row, Val};
use crate::TraceMeta;
use crate::kernel::meaning::MOST_FIELDS;
use crate::perfetto::{CLOCK_REMARK, EVENT_FIELDS, EVENT_NUMBERS};

/// A CPU's bundle is written when it has so many bytes, as recorders do.
const BUNDLE: usize = 32 << 10;
/// `TracePacket.trusted_packet_sequence_id`: the writer of the events, and that of the tracks.
const EVENTS: u64 = 1;
const TRACKS: u64 = 2;
/// `TracePacket.sequence_flags`: a writer's tables begin, and a packet that needs them.
const CLEARED: u64 = 1;
const NEEDS: u64 = 2;
/// Fields of `FtraceEvent` for events that Perfetto has no message for; recorders begin here.
const FIRST_GENERIC: u32 = 65_536;
/// Kinds of fields in a `FieldDescriptorProto`.
const UINT64: u64 = 4;
const STRING: u64 = 9;
/// `BuiltinClock`.
const MONOTONIC: u64 = 3;
const BOOTTIME: u64 = 6;
/// `TrackDescriptor.child_ordering`: by rank.
const EXPLICIT: u64 = 3;
/// `TrackEvent.type`.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;

/// Writes a Perfetto trace: events first, then tracks.
#[derive(Debug)]
pub struct PerfettoWriter<W> {
    out: W,
    packet: Proto,
    clock: Clock,
    begun: bool,
    cpus: BTreeMap<u32, Bundle>,
    /// How the events of a name were written so far: one way for each set of fields.
    ways: BTreeMap<String, Vec<Way>>,
    next_generic: u32,
    functions: BTreeMap<u64, u64>,
    tracks: u64,
}

/// What the times of the events are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Clock {
    /// `CLOCK_MONOTONIC`, which is `CLOCK_BOOTTIME` as long as nobody suspends the machine.
    Mono,
    /// `CLOCK_BOOTTIME`, or a clock that Perfetto does not know and that takes its place.
    Boot,
    /// A `FtraceClock`.
    Other(u64),
}

/// Whether Perfetto has the trace clock `name` ("mono", "local", ...). The times on any other are written as if they were
/// `CLOCK_BOOTTIME`'s, with the clock's name behind the recorder's, from where this crate's reader takes it.
#[must_use]
pub fn perfetto_has_clock(name: &str) -> bool {
    Clock::of(name).is_some()
}

impl Clock {
    /// That of a trace clock; nothing where Perfetto has none.
    fn of(name: &str) -> Option<Self> {
        match name {
            "mono" => Some(Self::Mono),
            "boot" => Some(Self::Boot),
            "global" => Some(Self::Other(2)),
            "local" => Some(Self::Other(3)),
            "mono_raw" => Some(Self::Other(4)),
            _ => None,
        }
    }

    /// Says in a bundle that its times are on this clock. Of clocks without a snapshot nobody knows the way to the
    /// trace's own: `ts_ns` is taken to be the same on both.
    fn write(self, bundle: &mut Proto, ts_ns: u64) {
        if let Self::Other(clock) = self {
            bundle.number(5, clock);
            bundle.number(6, ts_ns);
            bundle.number(7, ts_ns);
        }
    }
}

/// The events of a CPU that are not written yet.
#[derive(Debug, Default)]
struct Bundle {
    /// The fields of a `FtraceEventBundle` beside the CPU.
    events: Proto,
    last_ns: u64,
}

/// How an event is written: in which field of `FtraceEvent`, and each of its own fields in which field.
#[derive(Clone, Debug)]
struct Way {
    understood: bool,
    keys: Vec<&'static str>,
    event: u32,
    fields: Vec<u32>,
}

/// A track that slices are drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track(u64);

/// What a slice says beside its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note<'a> {
    Number(i64),
    Text(&'a str),
}

/// A stretch of time on a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice<'a> {
    /// When it begins, ns on the clock of the events.
    pub start_ns: u64,
    /// When it ends, ns; not before its start.
    pub end_ns: u64,
    pub name: &'a str,
    pub category: &'a str,
    /// Names and values to read when it is clicked on.
    pub notes: &'a [(&'a str, Note<'a>)],
    /// A moment in it, ns, that is marked with a word.
    pub mark: Option<(u64, &'a str)>,
}

impl<W: Write> PerfettoWriter<W> {
    /// Begins a trace of the recording that `meta` describes.
    ///
    /// # Errors
    /// When `out` cannot be written to; so of all methods.
    pub fn new(out: W, meta: &TraceMeta) -> io::Result<Self> {
        let clock = Clock::of(&meta.clock).unwrap_or(Clock::Boot);
        let mut writer = Self {
            out,
            packet: Proto::default(),
            clock,
            begun: false,
            cpus: BTreeMap::new(),
            ways: BTreeMap::new(),
            next_generic: FIRST_GENERIC,
            functions: BTreeMap::new(),
            tracks: 0,
        };
        writer.packet(|p| {
            p.message(45, |info| {
                let (release, machine) = meta.kernel.rsplit_once(' ').unwrap_or((&meta.kernel, ""));
                info.message(1, |uname| {
                    uname.bytes(1, b"Linux");
                    uname.bytes(3, release.as_bytes());
                    uname.bytes(4, machine.as_bytes());
                });
                let mut recorder = concat!("idlewise ", env!("CARGO_PKG_VERSION")).to_owned();
                if !perfetto_has_clock(&meta.clock) {
                    // No place in the format holds another clock's name, nor that there is none.
                    recorder = recorder + CLOCK_REMARK + &meta.clock;
                }
                info.bytes(4, recorder.as_bytes());
            });
        })?;
        // What the recording could hold, which tells the kernel's abilities.
        writer.packet(|p| {
            p.message(33, |config| {
                config.message(2, |source| {
                    source.message(1, |config| {
                        config.bytes(1, b"linux.ftrace");
                        config.message(100, |ftrace| {
                            let read = meta.event_names.values().filter(|n| is_of_idle_and_timers(n));
                            read.for_each(|name| ftrace.bytes(1, name.replacen(':', "/", 1).as_bytes()));
                        });
                    });
                });
            });
        })?;
        Ok(writer)
    }

    fn packet(&mut self, write: impl FnOnce(&mut Proto)) -> io::Result<()> {
        self.packet.0.clear();
        self.packet.message(1, write);
        self.out.write_all(&self.packet.0)
    }

    /// Says at the first event which clocks there are.
    fn begin(&mut self, ts_ns: u64) -> io::Result<()> {
        self.begun = true;
        let mono = self.clock == Clock::Mono;
        self.packet(|p| {
            p.number(10, EVENTS);
            p.number(13, CLEARED);
            p.message(6, |snapshot| {
                for clock in [Some(BOOTTIME), mono.then_some(MONOTONIC)].into_iter().flatten() {
                    snapshot.message(1, |c| {
                        c.number(1, clock);
                        c.number(2, ts_ns);
                    });
                }
                snapshot.number(2, BOOTTIME);
            });
        })
    }

    /// Writes the next event; `names` are those known by then.
    ///
    /// # Errors
    /// As [`PerfettoWriter::new`].
    pub fn event(&mut self, event: &Event, names: &impl Names) -> io::Result<()> {
        if !self.begun {
            self.begin(event.ts_ns)?;
        }
        let cpu = event.cpu;
        let Some(row) = Row::of(event, names) else {
            if matches!(event.kind, EventKind::Lost { .. }) {
                self.flush(cpu)?;
                // The bundle that follows: events were lost before it.
                self.cpus.entry(cpu).or_default().events.number(3, 1);
            }
            return Ok(());
        };
        // A bundle is in order of time, and not too long.
        let full = |b: &Bundle| b.events.0.len() >= BUNDLE || event.ts_ns < b.last_ns;
        if self.cpus.get(&cpu).is_some_and(full) {
            self.flush(cpu)?;
        }
        for (_, value) in row.fields() {
            if let Val::Function(at, Some(name)) = value {
                self.function(*at, name)?;
            }
        }
        let (number, fields) = self.way(&row, event)?;
        let functions = &self.functions;
        let bundle = self.cpus.entry(cpu).or_default();
        bundle.last_ns = event.ts_ns;
        bundle.events.message(2, |e| {
            e.number(1, event.ts_ns);
            e.number(2, u64::from(event.pid as u32));
            e.message(number, |m| {
                for ((_, value), field) in row.fields().iter().zip(fields) {
                    write_value(m, field, *value, cpu, functions);
                }
            });
        });
        Ok(())
    }

    /// Gives a function a number in the writer's table of symbols.
    fn function(&mut self, at: u64, name: &str) -> io::Result<()> {
        if self.functions.contains_key(&at) {
            return Ok(());
        }
        let iid = self.functions.len() as u64 + 1;
        self.functions.insert(at, iid);
        self.packet(|p| {
            p.number(10, EVENTS);
            p.number(13, NEEDS);
            p.message(12, |interned| {
                interned.message(26, |symbol| {
                    symbol.number(1, iid);
                    symbol.bytes(2, name.as_bytes());
                });
            });
        })
    }

    /// How to write `row`: the event's field, and those of its fields. A new kind of event is described first.
    fn way(&mut self, row: &Row<'_>, event: &Event) -> io::Result<(u32, [u32; MOST_FIELDS])> {
        let keys = row.fields().iter().map(|(key, _)| *key);
        let known = self.ways.get(row.name).and_then(|ways| {
            ways.iter().find(|w| w.understood == row.understood && w.keys.iter().copied().eq(keys.clone()))
        });
        let way = match known {
            Some(way) => way,
            None => {
                let way = self.describe(row, event)?;
                let ways = self.ways.entry(row.name.to_owned()).or_default();
                ways.push(way);
                let Some(way) = ways.last() else { return Ok((0, [0; MOST_FIELDS])) };
                way
            }
        };
        let mut fields = [0; MOST_FIELDS];
        fields.iter_mut().zip(&way.fields).for_each(|(to, from)| *to = *from);
        Ok((way.event, fields))
    }

    fn describe(&mut self, row: &Row<'_>, first: &Event) -> io::Result<Way> {
        let keys: Vec<&'static str> = row.fields().iter().map(|(key, _)| *key).collect();
        if let Some((event, fields)) = message_of(row) {
            return Ok(Way { understood: row.understood, keys, event, fields });
        }
        let event = self.next_generic;
        self.next_generic += 1;
        let clock = self.clock;
        self.packet(|p| {
            p.number(10, EVENTS);
            p.number(13, NEEDS);
            p.message(1, |bundle| {
                bundle.number(1, first.cpu.into());
                clock.write(bundle, first.ts_ns);
                bundle.message(11, |described| {
                    described.number(1, event.into());
                    described.message(2, |descriptor| {
                        descriptor.bytes(1, row.name.as_bytes());
                        for ((key, value), n) in row.fields().iter().zip(1u64..) {
                            descriptor.message(2, |field| {
                                field.bytes(1, key.as_bytes());
                                field.number(3, n);
                                field.number(4, 1);
                                field.number(5, if value.number().is_some() { UINT64 } else { STRING });
                            });
                        }
                    });
                    described.bytes(3, row.system.as_bytes());
                });
            });
        })?;
        Ok(Way { understood: row.understood, fields: (1..).take(keys.len()).collect(), keys, event })
    }

    /// Writes what a CPU has waiting.
    fn flush(&mut self, cpu: u32) -> io::Result<()> {
        let Some(bundle) = self.cpus.get_mut(&cpu).filter(|b| !b.events.0.is_empty()) else { return Ok(()) };
        let (mut events, last_ns) = (std::mem::take(&mut bundle.events), bundle.last_ns);
        let clock = self.clock;
        self.packet(|p| {
            p.number(10, EVENTS);
            p.number(13, NEEDS);
            p.message(1, |b| {
                b.number(1, cpu.into());
                clock.write(b, last_ns);
                b.0.extend_from_slice(&events.0);
            });
        })?;
        events.0.clear();
        if let Some(bundle) = self.cpus.get_mut(&cpu) {
            (bundle.events, bundle.last_ns) = (events, 0);
        }
        Ok(())
    }

    /// Writes all that waits.
    fn flush_all(&mut self) -> io::Result<()> {
        let cpus: Vec<u32> = self.cpus.keys().copied().collect();
        cpus.into_iter().try_for_each(|cpu| self.flush(cpu))
    }

    /// A new track called `name`, below `parent` if there is one; tracks of one parent are shown in the order in which
    /// they are made.
    ///
    /// # Errors
    /// As [`PerfettoWriter::new`].
    pub fn track(&mut self, name: &str, parent: Option<Track>) -> io::Result<Track> {
        self.tracks += 1;
        let number = self.tracks;
        let flags = if number == 1 { CLEARED } else { NEEDS };
        self.packet(|p| {
            p.number(10, TRACKS);
            p.number(13, flags);
            p.message(60, |track| {
                track.number(1, number);
                track.bytes(2, name.as_bytes());
                track.number(11, EXPLICIT);
                track.number(12, number);
                if let Some(Track(parent)) = parent {
                    track.number(5, parent);
                }
            });
        })?;
        Ok(Track(number))
    }

    /// Draws `slice` on `track`, whose slices come in order of time and do not overlap.
    ///
    /// # Errors
    /// As [`PerfettoWriter::new`].
    pub fn slice(&mut self, track: Track, slice: &Slice<'_>) -> io::Result<()> {
        self.track_event(track, BEGIN, slice)?;
        let bare = Slice { name: "", notes: &[], mark: None, ..*slice };
        if let Some((at_ns, name)) = slice.mark {
            let start_ns = at_ns.clamp(slice.start_ns, slice.end_ns.max(slice.start_ns));
            self.track_event(track, INSTANT, &Slice { start_ns, name, ..bare })?;
        }
        self.track_event(track, END, &Slice { start_ns: slice.end_ns.max(slice.start_ns), ..bare })
    }

    fn track_event(&mut self, Track(track): Track, kind: u64, slice: &Slice<'_>) -> io::Result<()> {
        self.packet(|p| {
            p.number(8, slice.start_ns);
            p.number(10, TRACKS);
            p.number(13, NEEDS);
            p.message(11, |event| {
                event.number(9, kind);
                event.number(11, track);
                if !slice.name.is_empty() {
                    event.bytes(23, slice.name.as_bytes());
                    event.bytes(22, slice.category.as_bytes());
                }
                for (name, note) in slice.notes {
                    event.message(4, |annotation| {
                        annotation.bytes(10, name.as_bytes());
                        match note {
                            Note::Number(n) => annotation.number(4, *n as u64),
                            Note::Text(text) => annotation.bytes(6, text.as_bytes()),
                        }
                    });
                }
            });
        })
    }

    /// Writes what waits and hands back what was written to.
    ///
    /// # Errors
    /// As [`PerfettoWriter::new`].
    pub fn finish(mut self) -> io::Result<W> {
        self.flush_all()?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// The number of the event's message, and those of its fields, where Perfetto has one that takes them all.
fn message_of(row: &Row<'_>) -> Option<(u32, Vec<u32>)> {
    let (event, _) = EVENT_NUMBERS.iter().find(|(_, name)| *name == row.name).filter(|_| row.understood)?;
    let (_, all) = EVENT_FIELDS.iter().find(|(number, _)| number == event)?;
    let field = |key: &str| all.iter().find(|f| f.name == key).map(|f| u32::from(f.number));
    let fields: Option<Vec<u32>> = row.fields().iter().map(|(key, _)| field(key)).collect();
    fields.map(|fields| (*event, fields))
}

fn write_value(m: &mut Proto, field: u32, value: Val<'_>, cpu: u32, functions: &BTreeMap<u64, u64>) {
    match value {
        Val::Function(at, _) => m.number(field, functions.get(&at).copied().unwrap_or(at)),
        Val::Comm(0, _) => m.bytes(field, format!("swapper/{cpu}").as_bytes()),
        Val::Comm(_, Some(name)) => m.bytes(field, name.as_bytes()),
        // A name that nobody knows must not hide one that is learned later.
        Val::Comm(_, None) => {}
        Val::Text(text) => m.bytes(field, text.as_bytes()),
        Val::Cpus(cpus) => m.bytes(field, cpus.to_string().as_bytes()),
        Val::Reason(text) => m.bytes(field, text.as_bytes()),
        value => m.number(field, value.number().unwrap_or(0)),
    }
}

/// Events of the systems that tell of idle CPUs and what wakes them.
fn is_of_idle_and_timers(name: &str) -> bool {
    let system = name.split(':').next().unwrap_or("");
    matches!(
        system,
        "power" | "sched" | "timer" | "timer_migration" | "irq" | "irq_vectors" | "ipi" | "idlewise"
    ) && name.contains(':')
}
