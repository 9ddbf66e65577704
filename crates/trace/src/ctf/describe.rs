// SPDX-License-Identifier: GPL-2.0-only
//! What the metadata describes: the trace, its clocks, its kinds of streams and its events.

use std::collections::BTreeMap;

use super::lex::short;
use super::parser::{Parser, Setting, Value, byte_order};
use super::types::{Order, TypeId, Types};

/// What the metadata of a CTF trace declares: clocks, streams and events.
pub(super) struct Description {
    pub(super) types: Types,
    pub(super) order: Order,
    pub(super) uuid: Option<[u8; 16]>,
    pub(super) packet_header: Option<TypeId>,
    /// The recorder's remarks on the machine; numbers as text.
    pub(super) env: BTreeMap<String, String>,
    pub(super) clocks: BTreeMap<String, Clock>,
    pub(super) streams: BTreeMap<u64, StreamKind>,
    pub(super) events: Vec<EventKind>,
    /// Bits in the kernel's `long`, where a type of that name is declared.
    pub(super) long_bits: Option<u32>,
    /// Attributes and blocks that nobody knows.
    pub(super) unknown: Vec<String>,
}

/// No clock of a trace is slower or faster: timers tick at some MHz, cycle counters at some GHz.
const SLOWEST_HZ: u64 = 1000;
const FASTEST_HZ: u64 = 100_000_000_000;

/// A clock: its times are counted in ticks of `1/freq` s from an origin of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Clock {
    pub(super) freq: u64,
    pub(super) description: String,
    /// What separates its origin from the epoch: seconds and ticks.
    pub(super) offset_s: i128,
    pub(super) offset: i128,
}

/// A kind of streams: LTTng's "channel".
#[derive(Clone, Debug, Default)]
pub(super) struct StreamKind {
    pub(super) packet_context: Option<TypeId>,
    pub(super) event_header: Option<TypeId>,
    pub(super) event_context: Option<TypeId>,
}

/// A kind of events.
#[derive(Clone, Debug)]
pub(super) struct EventKind {
    pub(super) name: String,
    pub(super) id: u64,
    pub(super) stream_id: u64,
    pub(super) context: Option<TypeId>,
    pub(super) fields: Option<TypeId>,
}

const HZ: u64 = 1_000_000_000;

/// Parses TSDL.
///
/// # Errors
/// What was expected, and where in the text, bytes.
pub(super) fn parse(text: &str) -> Result<Description, (String, usize)> {
    let mut parser = Parser::new(text);
    read(&mut parser).map_err(|e| (e, parser.at()))
}

fn read(parser: &mut Parser<'_>) -> Result<Description, String> {
    let mut order = None;
    let (mut uuid, mut packet_header) = (None, None);
    let mut env = BTreeMap::new();
    let mut clocks = BTreeMap::new();
    let mut streams = BTreeMap::new();
    let mut events = Vec::new();
    parser.step()?;
    while !parser.is_end() {
        if parser.take(";")? || parser.declaration()? {
            continue;
        }
        let block = parser.word()?;
        let settings = parser.block()?;
        match block {
            "trace" => {
                for Setting { path, value } in settings {
                    match path.as_str() {
                        "major" | "minor" => version(&path, &value)?,
                        "uuid" => uuid = value.word().as_deref().map(uuid_of).transpose()?,
                        "byte_order" => order = byte_order(&value.word().unwrap_or_default())?,
                        "packet.header" => packet_header = value.ty(),
                        other => parser.not_known("trace", other),
                    }
                }
            }
            "env" => {
                for Setting { path, value } in settings {
                    let value = value.number().map(|n| n.to_string()).or_else(|| value.word());
                    env.insert(path, value.unwrap_or_default());
                }
            }
            "clock" => {
                let (name, clock) = clock(parser, settings)?;
                clocks.insert(name, clock);
            }
            "stream" => {
                let (id, stream) = stream(parser, settings)?;
                streams.insert(id, stream);
            }
            "event" => events.push(event(parser, settings)?),
            "callsite" => {}
            other => parser.not_known("block", other),
        }
        parser.take(";")?;
    }
    let order = order.ok_or("a trace block with byte_order = le or be")?;
    let long_bits = parser.bits_of("unsigned long");
    let types = std::mem::take(&mut parser.types);
    let unknown = std::mem::take(&mut parser.unknown);
    if streams.is_empty() {
        // A trace of one kind of streams need not describe it.
        streams.insert(0, StreamKind::default());
    }
    Ok(Description { types, order, uuid, packet_header, env, clocks, streams, events, long_bits, unknown })
}

fn version(path: &str, value: &Value) -> Result<(), String> {
    let (expected, what) = if path == "major" { (1, "version 1") } else { (8, "version 1.8") };
    match value.number() {
        Some(n) if n == expected => Ok(()),
        _ => Err(format!("{what} of CTF (trace.{path} = {expected})")),
    }
}

fn uuid_of(text: &str) -> Result<[u8; 16], String> {
    let wrong = || format!("a UUID instead of \"{}\"", short(text));
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    if digits.len() != 32 || !digits.is_ascii() {
        return Err(wrong());
    }
    u128::from_str_radix(&digits, 16).map(u128::to_be_bytes).map_err(|_| wrong())
}

fn clock(parser: &mut Parser<'_>, settings: Vec<Setting>) -> Result<(String, Clock), String> {
    let mut name = None;
    let mut clock = Clock { freq: HZ, description: String::new(), offset_s: 0, offset: 0 };
    for Setting { path, value } in settings {
        match (path.as_str(), &value) {
            ("name", _) => name = value.word(),
            ("description", _) => clock.description = value.word().unwrap_or_default(),
            ("freq", Value::Number(n)) => {
                let freq = u64::try_from(*n).ok().filter(|n| (SLOWEST_HZ..=FASTEST_HZ).contains(n));
                clock.freq = freq.ok_or_else(|| format!("a clock of 1 kHz to 100 GHz instead of {n} Hz"))?;
            }
            ("offset", Value::Number(n)) => clock.offset = *n,
            ("offset_s", Value::Number(n)) => clock.offset_s = *n,
            ("uuid" | "precision" | "absolute", _) => {}
            (other, _) => parser.not_known("clock", other),
        }
    }
    Ok((name.ok_or("a clock to have a name")?, clock))
}

fn number(path: &str, value: &Value) -> Result<u64, String> {
    let n = value.number().and_then(|n| u64::try_from(n).ok());
    n.ok_or_else(|| format!("{path} to be a number"))
}

fn stream(parser: &mut Parser<'_>, settings: Vec<Setting>) -> Result<(u64, StreamKind), String> {
    let mut id = 0;
    let mut stream = StreamKind::default();
    for Setting { path, value } in settings {
        match path.as_str() {
            "id" => id = number("stream.id", &value)?,
            "packet.context" => stream.packet_context = value.ty(),
            "event.header" => stream.event_header = value.ty(),
            "event.context" => stream.event_context = value.ty(),
            other => parser.not_known("stream", other),
        }
    }
    Ok((id, stream))
}

fn event(parser: &mut Parser<'_>, settings: Vec<Setting>) -> Result<EventKind, String> {
    let mut event = EventKind { name: String::new(), id: 0, stream_id: 0, context: None, fields: None };
    for Setting { path, value } in settings {
        match path.as_str() {
            "name" => event.name = value.word().unwrap_or_default(),
            "id" => event.id = number("event.id", &value)?,
            "stream_id" => event.stream_id = number("event.stream_id", &value)?,
            "context" => event.context = value.ty(),
            "fields" => event.fields = value.ty(),
            "loglevel" | "model.emf.uri" | "msg" => {}
            other => parser.not_known("event", other),
        }
    }
    if event.name.is_empty() {
        event.name = format!("event_{}", event.id);
    }
    Ok(event)
}
