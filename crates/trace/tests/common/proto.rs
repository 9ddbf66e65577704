// SPDX-License-Identifier: GPL-2.0-only
//! Writes small Perfetto traces, field by field, so that a test can say what is in them.

/// A message that is being put together.
#[derive(Clone, Debug, Default)]
pub struct Message(pub Vec<u8>);

pub fn message() -> Message {
    Message::default()
}

impl Message {
    fn varint(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    /// A number; negative ones sign-extended.
    pub fn n(mut self, field: u32, n: impl Into<i128>) -> Self {
        self.varint(u64::from(field) << 3);
        self.varint(n.into() as u64);
        self
    }

    /// A text or bytes.
    pub fn b(mut self, field: u32, bytes: impl AsRef<[u8]>) -> Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(bytes.as_ref().len() as u64);
        self.0.extend(bytes.as_ref());
        self
    }

    /// A message.
    pub fn m(self, field: u32, message: Message) -> Self {
        self.b(field, message.0)
    }

    /// Packed numbers.
    pub fn packed(self, field: u32, numbers: &[i64]) -> Self {
        let mut packed = Message::default();
        numbers.iter().for_each(|n| packed.varint(*n as u64));
        self.b(field, packed.0)
    }
}

/// A `FtraceEvent` with the message `event` in its field `number`.
pub fn event(ts_ns: u64, pid: i32, number: u32, event: Message) -> Message {
    message().n(1, ts_ns).n(2, pid as u32).m(number, event)
}

/// A `FtraceEventBundle`.
pub fn bundle(cpu: u32, events: Vec<Message>) -> Message {
    events.into_iter().fold(message().n(1, cpu), |bundle, event| bundle.m(2, event))
}

/// A `TracePacket` of writer 1 with a bundle.
pub fn packet(bundle: Message) -> Message {
    message().m(1, bundle).n(10, 1)
}

/// The bytes of a trace.
pub fn trace(packets: Vec<Message>) -> Vec<u8> {
    packets.into_iter().fold(message(), |trace, packet| trace.m(1, packet)).0
}

pub fn cpu_idle(ts_ns: u64, cpu: u32, state: u32) -> Message {
    event(ts_ns, 0, 13, message().n(1, state).n(2, cpu))
}

pub fn sched_switch(ts_ns: u64, prev_pid: i32, prev_state: i64, next_pid: i32) -> Message {
    let switch = message().b(1, "before").n(2, prev_pid).n(3, 120).n(4, prev_state);
    event(ts_ns, prev_pid, 4, switch.b(5, "after").n(6, next_pid).n(7, 98))
}

/// The description of an event that Perfetto has no message for, with fields numbered from 1; type 9 is a text, 4 a
/// number.
pub fn described(field: u32, system: &str, name: &str, fields: &[(&str, u32)]) -> Message {
    let fields = fields.iter().zip(1u32..).map(|((name, kind), n)| message().b(1, name).n(3, n).n(5, *kind));
    let descriptor = fields.fold(message().b(1, name), |d, field| d.m(2, field));
    message().n(1, field).m(2, descriptor).b(3, system)
}
