// SPDX-License-Identifier: GPL-2.0-only
//! What the metadata describes, compiled: packets, streams and events.

use std::collections::BTreeMap;

use super::compile::{Compiler, Fields, Found, find};
use super::describe::{Clock, Description, EventKind, StreamKind};
use super::header::Header;
use super::lex::short;
use super::names::{KernelFields, kernel_name};
use super::program::{Field, Num, Program};
use crate::kernel::meaning::{Layout, Op, tasks_of};

/// Everything that is needed to decode a trace.
#[derive(Debug, Default)]
pub(super) struct Kinds {
    pub(super) packet: PacketHeader,
    pub(super) streams: BTreeMap<u64, Stream>,
    pub(super) events: Vec<EventClass>,
    pub(super) names: BTreeMap<u16, String>,
    /// The clock of the events' times.
    pub(super) clock: Option<(String, Clock)>,
    pub(super) notes: Vec<String>,
    /// No program marks more bases.
    pub(super) bases: usize,
}

/// The header of every packet.
#[derive(Debug, Default)]
pub(super) struct PacketHeader {
    pub(super) program: Program,
    pub(super) magic: Option<Num>,
    pub(super) uuid: Option<Field>,
    pub(super) stream_id: Option<Num>,
}

/// A kind of streams.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) context: Program,
    pub(super) timestamp_begin: Option<Num>,
    pub(super) content_size: Option<Num>,
    pub(super) packet_size: Option<Num>,
    pub(super) events_discarded: Option<Num>,
    pub(super) packet_seq_num: Option<Num>,
    pub(super) cpu_id: Option<Num>,
    pub(super) header: Header,
    /// The place in [`Kinds::events`] of small ids.
    near: Vec<Option<u32>>,
    far: BTreeMap<u64, u32>,
}

/// Ids below this are looked up by place.
const NEAR: u64 = 1 << 12;

impl Stream {
    /// The place in [`Kinds::events`] of the event with this id.
    #[inline(always)]
    pub(super) fn event(&self, id: u64) -> Option<u32> {
        if id < NEAR { self.near.get(id as usize).copied().flatten() } else { self.far.get(&id).copied() }
    }

    fn insert(&mut self, id: u64, place: u32) {
        if id >= NEAR {
            self.far.insert(id, place);
            return;
        }
        let at = id as usize;
        if self.near.len() <= at {
            self.near.resize(at + 1, None);
        }
        if let Some(near) = self.near.get_mut(at) {
            *near = Some(place);
        }
    }
}

/// A kind of events.
#[derive(Debug)]
pub(super) struct EventClass {
    /// The number of its name.
    pub(super) id: u16,
    /// From the end of its header to its own end; `None` if it cannot be read.
    pub(super) program: Option<Program>,
    pub(super) op: Op<Field>,
    /// The task that was current, where the recording was asked to note it.
    pub(super) tid: Option<Field>,
    /// An interrupt and its handler's name.
    pub(super) irq: Option<(Field, Field)>,
    /// Tasks and their names.
    pub(super) comms: Vec<(Field, Field)>,
}

fn num(fields: Option<&Fields>, name: &str) -> Option<Num> {
    match find(fields?, name) {
        Some(Found::Number(num, _)) => Some(*num),
        _ => None,
    }
}

impl Kinds {
    /// Compiles a description.
    ///
    /// # Errors
    /// What keeps every packet from being read.
    pub(super) fn compile(description: &Description) -> Result<Self, String> {
        let mut compiler = Compiler::new(&description.types, description.order);
        let mut kinds = Self { packet: packet_header(&mut compiler, description)?, ..Self::default() };
        kinds.needs(kinds.packet.program.bases);
        for (id, stream) in &description.streams {
            let compiled = kinds.stream(&mut compiler, stream)?;
            kinds.streams.insert(*id, compiled);
        }
        kinds.find_clock(description)?;
        let lttng = description.env.get("tracer_name").is_none_or(|name| name.starts_with("lttng"));
        let mut numbers = BTreeMap::new();
        for event in &description.events {
            kinds.event(&mut compiler, description, event, lttng, &mut numbers);
        }
        Ok(kinds)
    }

    fn needs(&mut self, bases: usize) {
        self.bases = self.bases.max(bases);
    }

    fn stream(&mut self, compiler: &mut Compiler<'_>, stream: &StreamKind) -> Result<Stream, String> {
        let mut code = compiler.program();
        code.part("stream.packet.context", stream.packet_context)?;
        let (context, parts) = code.finish();
        self.needs(context.bases);
        let fields = parts.first();
        Ok(Stream {
            context,
            timestamp_begin: num(fields, "timestamp_begin"),
            content_size: num(fields, "content_size"),
            packet_size: num(fields, "packet_size"),
            events_discarded: num(fields, "events_discarded"),
            packet_seq_num: num(fields, "packet_seq_num"),
            cpu_id: num(fields, "cpu_id"),
            header: Header::compile(compiler, stream.event_header)?,
            near: Vec::new(),
            far: BTreeMap::new(),
        })
    }

    /// The one clock of all streams.
    fn find_clock(&mut self, description: &Description) -> Result<(), String> {
        let mut names: Vec<&String> = self.streams.values().filter_map(|s| s.header.clock.as_ref()).collect();
        names.dedup();
        match names.as_slice() {
            // A trace that maps no field to its only clock.
            [] if description.clocks.len() == 1 => {
                self.clock = description.clocks.first_key_value().map(|(n, c)| (n.clone(), c.clone()));
            }
            [] => {}
            [name] => {
                let clock = description.clocks.get(*name);
                let clock = clock.ok_or_else(|| format!("no clock {} is described", short(name)))?;
                self.clock = Some(((*name).clone(), clock.clone()));
            }
            _ => return Err("its streams have different clocks".to_owned()),
        }
        Ok(())
    }

    fn event(
        &mut self,
        compiler: &mut Compiler<'_>,
        description: &Description,
        event: &EventKind,
        lttng: bool,
        numbers: &mut BTreeMap<String, u16>,
    ) {
        let (system, name) = kernel_name(&event.name);
        let full = format!("{system}:{name}");
        let next = u16::try_from(numbers.len()).unwrap_or(u16::MAX);
        let id = *numbers.entry(full).or_insert_with_key(|full| {
            self.names.entry(next).or_insert_with(|| full.clone());
            next
        });
        let Some(stream) = description.streams.get(&event.stream_id) else {
            self.notes.push(format!("{} belongs to a stream that is not described", short(&event.name)));
            return;
        };
        let mut code = compiler.program();
        let result = code
            .part("stream.event.context", stream.event_context)
            .and_then(|()| code.part("event.context", event.context))
            .and_then(|()| code.part("event.fields", event.fields));
        let mut class =
            EventClass { id, program: None, op: Op::Other, tid: None, irq: None, comms: Vec::new() };
        if let Err(why) = result {
            self.notes.push(format!(
                "{} cannot be read, and what follows it in its packet is lost: {why}",
                short(&event.name)
            ));
        } else {
            let (program, mut parts) = code.finish();
            self.needs(program.bases);
            class.program = Some(program);
            let fields = parts.pop().unwrap_or_default();
            self.understand(&mut class, (system, name), &fields, &parts, lttng && !event.name.contains(':'));
        }
        let place = u32::try_from(self.events.len()).unwrap_or(u32::MAX);
        self.events.push(class);
        if let Some(stream) = self.streams.get_mut(&event.stream_id) {
            stream.insert(event.id, place);
        }
    }

    /// Finds out what an event means; `contexts` are what the recorder noted with it.
    fn understand(
        &mut self,
        class: &mut EventClass,
        (system, name): (&str, &str),
        fields: &Fields,
        contexts: &[Fields],
        lttng: bool,
    ) {
        let mut layout = KernelFields { fields, lttng };
        match Op::compile(system, name, &mut layout) {
            Ok(op) => class.op = op,
            Err(field) => self.notes.push(format!(
                "{system}:{name} has no usable field {field}: its events count as other events"
            )),
        }
        // Without a context of the task the process still tells the idle task from the others.
        let context = |name: &str| {
            let num = contexts.iter().find_map(|c| num(Some(c), name))?;
            Some(Field::Number { num, add: 0 })
        };
        class.tid = ["tid", "perf_tid", "pid", "perf_pid"].iter().find_map(|name| context(name));
        let mut pair = |number: &str, text: &str| layout.number(number).zip(layout.text(text));
        match (system, name) {
            ("irq", "irq_handler_entry") => class.irq = pair("irq", "name"),
            // There `name` is the interrupt's chip.
            ("lttng", "lttng_statedump_interrupt") => class.irq = pair("irq", "action"),
            ("lttng", "lttng_statedump_process_state") => class.comms.extend(pair("tid", "name")),
            _ => class.comms.extend(tasks_of(system, name).filter_map(|(pid, comm)| pair(pid, comm))),
        }
    }
}

fn packet_header(compiler: &mut Compiler<'_>, description: &Description) -> Result<PacketHeader, String> {
    let mut code = compiler.program();
    code.part("trace.packet.header", description.packet_header)?;
    let (program, parts) = code.finish();
    let fields = parts.first();
    let uuid = match fields.and_then(|f| find(f, "uuid")) {
        Some(Found::Text(field @ Field::Chars { len: 16, .. })) => Some(*field),
        _ => None,
    };
    Ok(PacketHeader { program, magic: num(fields, "magic"), uuid, stream_id: num(fields, "stream_id") })
}
