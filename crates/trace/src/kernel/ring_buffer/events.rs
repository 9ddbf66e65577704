// SPDX-License-Identifier: GPL-2.0-only
//! The buffers of all CPUs, merged in time order.

use idlewise_model::{Event, EventKind, Health, HealthKind};

use super::cpu::{Cpu, Shared};
use super::recording::RingTrace;
use super::window::{Window, Workshop};
use crate::kernel::bytes::{Decoded, Decoders};
use crate::kernel::clock::seconds;
use crate::kernel::order::Order;
use crate::learned::Learned;
use crate::reader::Stream;
use crate::turns::Turns;

/// The events of ring buffers.
pub(crate) struct RingEvents<'a, O> {
    decoders: &'a Decoders,
    shared: Shared<O>,
    cpus: Vec<Cpu<'a>>,
    turns: Turns,
    last_irq: Option<i32>,
}

impl<'a, O: Order> RingEvents<'a, O> {
    pub(crate) fn new(trace: &'a RingTrace, order: O) -> Self {
        let mut shared = Shared {
            order,
            layout: trace.layout,
            page_size: trace.page_size,
            clock: trace.clock,
            workshop: Workshop::default(),
            learned: Learned::default(),
        };
        let mut cpus: Vec<Cpu<'_>> = Vec::new();
        for region in &trace.regions {
            let Some(input) = trace.inputs.get(region.input) else { continue };
            let window = Window::new(input, *region, trace.packing, trace.page_size, trace.regions.len());
            let mut cpu = Cpu::new(region.cpu, window);
            if cpu.advance(&mut shared) {
                cpus.push(cpu);
            }
        }
        let turns = Turns::new(cpus.iter().map(|cpu| cpu.ts_ns));
        Self { decoders: &trace.decoders, shared, cpus, turns, last_irq: None }
    }
}

impl<O: Order> Stream for RingEvents<'_, O> {
    #[inline]
    fn next_event(&mut self) -> Option<Event> {
        loop {
            let cpu = self.cpus.get_mut(self.turns.current())?;
            if self.turns.is_over(cpu.ts_ns) {
                self.turns.pass_on(cpu.ts_ns);
                continue;
            }
            if let Some(count) = cpu.lost.take() {
                let (ts_ns, cpu) = (cpu.ts_ns, cpu.cpu);
                return Some(Event { ts_ns, cpu, pid: -1, kind: EventKind::Lost { count } });
            }
            let (decoders, order) = (self.decoders, self.shared.order);
            let (data, len) = (cpu.data(), cpu.len());
            let id = decoders.id(order, data).unwrap_or(0);
            let decoded = decoders.decode(order, cpu.ts_ns, cpu.cpu, id, data, len);
            let event = match decoded {
                Decoded::Event(event) => {
                    if let EventKind::IrqEntry { irq } = event.kind
                        && self.last_irq != Some(irq)
                    {
                        self.last_irq = Some(irq);
                        if let Some(name) = data.get(..len).and_then(|d| decoders.irq_name(order, id, d)) {
                            self.shared.learned.irq(irq, name);
                        }
                    }
                    Some(event)
                }
                odd => odd_event(odd, id, cpu, &mut self.shared.learned.health),
            };
            if !cpu.advance(&mut self.shared) {
                self.turns.end();
            }
            let Some(event) = event else { continue };
            self.shared.learned.count(id);
            return Some(event);
        }
    }

    fn learned(&self) -> &Learned {
        &self.shared.learned
    }

    fn learned_mut(&mut self) -> &mut Learned {
        &mut self.shared.learned
    }
}

/// Events that cannot be understood are counted; those with an id are passed on as other events.
#[cold]
fn odd_event(odd: Decoded, id: u16, cpu: &Cpu<'_>, health: &mut Health) -> Option<Event> {
    let place = || format!("CPU {} at {}, event id {id}", cpu.cpu, seconds(cpu.ts_ns));
    match odd {
        Decoded::Event(event) => Some(event),
        Decoded::Unknown(event) => {
            health.add(HealthKind::UnknownEvent, 1, place);
            Some(event)
        }
        Decoded::Short(event) => {
            health.add(HealthKind::BadEvent, 1, place);
            Some(event)
        }
        Decoded::Broken => {
            health.add(HealthKind::BadEvent, 1, place);
            None
        }
    }
}
