// SPDX-License-Identifier: GPL-2.0-only
//! How an event spells its fields. A [`Shape`] is made from the first line of an event and read from all that follow;
//! an event that is spelled in several ways has several.

use std::ops::Range;

use memchr::{memchr, memmem, memrchr};

use super::head::TwoTasks;
use super::values;
use super::words::Words;
use crate::kernel::meaning::{Layout, MOST_FIELDS, Op, Spelled, Values, spelled};

/// A field: a place in [`Line`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place(u8);

/// The fields of one line.
pub(super) struct Line<'l> {
    numbers: [u64; MOST_FIELDS],
    text: &'l [u8],
}

impl Line<'_> {
    /// The first numbers are these.
    fn fill<const N: usize>(&mut self, values: [u64; N]) {
        for (place, value) in self.numbers.iter_mut().zip(values) {
            *place = value;
        }
    }
}

impl Values<Place> for Line<'_> {
    #[inline(always)]
    fn u64(&self, field: Place) -> u64 {
        self.numbers.get(usize::from(field.0)).copied().unwrap_or(0)
    }

    #[inline(always)]
    fn i64(&self, field: Place) -> i64 {
        self.u64(field) as i64
    }

    /// No event has more than one text.
    #[inline(always)]
    fn text(&self, _field: Place) -> &[u8] {
        self.text
    }
}

/// How the fields of a line are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spelling {
    /// `key=value`, in this order.
    Pairs,
    /// `key=value`, of two tasks: `prev_comm=a prev_pid=1 ... ==> next_comm=b next_pid=2 ...`.
    TwoTasks,
    /// `prev:1 [120] S ==> next:2 [120]`, from trace-cmd and perf.
    ShortSwitch,
    /// `comm:1 [120] success=1 CPU:003`, from trace-cmd and perf.
    ShortWakeup,
    /// `pid:prio:state ==> [cpu] pid: prio:state comm`, from the wakeup tracers.
    TracerSwitch,
    /// The same with `+`.
    TracerWakeup,
    /// `halt_poll_ns 200000 (grow 0)`.
    HaltPoll,
    /// `machine_suspend[1] begin`.
    Step,
    /// `cpu: 0003 target: 0 step: 88 (takedown_cpu)`.
    Hotplug,
    /// `254,0 WS 4096 () 1234 + 8 none,0,0 [fio]`.
    Request,
    Whole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    name: &'static str,
    kind: Spelled,
}

/// How one spelling of an event is read.
#[derive(Debug)]
pub(super) struct Shape {
    pub(super) op: Op<Place>,
    spelling: Spelling,
    keys: Vec<Key>,
    /// A comm comes first, which may look like a key: the last of equal keys counts.
    last_counts: bool,
    timer: Option<TimerStart>,
}

/// What a `timer_start` in words does not say as a number: places of its fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TimerStart {
    /// `now` is `expires` less this time left.
    now: Option<(usize, usize)>,
    flags: Option<usize>,
    cpu: Option<usize>,
    idx: Option<usize>,
}

/// A line of an event that is to be understood.
struct Wording<'l> {
    event: &'l str,
    fields: &'l [u8],
    spelling: Spelling,
    keys: Vec<Key>,
    timer: Option<TimerStart>,
}

impl Shape {
    /// Understands how the event `system:event` spells its `fields`.
    ///
    /// # Errors
    /// The name of a field that the event needs and does not have.
    pub(super) fn learn(system: &str, event: &str, fields: &[u8]) -> Result<Self, String> {
        let spelling = Spelling::of(event, fields);
        let mut wording = Wording { event, fields, spelling, keys: Vec::new(), timer: None };
        let op = Op::compile(system, event, &mut wording)?;
        let last_counts = fields.starts_with(b"comm=") || spelling == Spelling::TwoTasks;
        Ok(Self { op, spelling, keys: wording.keys, last_counts, timer: wording.timer })
    }

    /// The fields of a line; `None` if it is spelled in another way.
    #[inline]
    pub(super) fn read<'l>(&self, fields: &'l [u8], words: &mut Words) -> Option<Line<'l>> {
        let mut line = Line { numbers: [0; MOST_FIELDS], text: b"" };
        match self.spelling {
            Spelling::Pairs => self.pairs(fields, 0..self.keys.len(), &mut line, words)?,
            Spelling::TwoTasks => {
                let cut = memmem::rfind(fields, b" next_comm=")?;
                let (prev, next) = fields.split_at_checked(cut)?;
                let of_next = self.keys.iter().position(|k| k.name.starts_with("next"))?;
                self.pairs(prev, 0..of_next, &mut line, words)?;
                self.pairs(next, of_next..self.keys.len(), &mut line, words)?;
            }
            Spelling::ShortSwitch => short_switch(fields, &mut line)?,
            Spelling::ShortWakeup => short_wakeup(fields, &mut line)?,
            Spelling::TracerSwitch => {
                let t = TwoTasks::parse(fields)?;
                line.fill([t.prev_pid, t.prev_prio, t.prev_state, t.next_pid, t.next_prio]);
            }
            Spelling::TracerWakeup => {
                let t = TwoTasks::parse(fields)?;
                line.fill([t.next_pid, t.cpu]);
            }
            Spelling::HaltPoll => halt_poll(fields, &mut line)?,
            Spelling::Step => step(fields, &mut line)?,
            Spelling::Hotplug => line.fill([hotplug(fields)?]),
            Spelling::Request => request(fields, &mut line)?,
            Spelling::Whole => line.text = whole(fields),
        }
        if let Some(timer) = self.timer {
            timer.complete(&mut line)?;
        }
        Some(line)
    }

    /// Finds the keys of `range` among the words of `fields`; all must be there.
    #[inline]
    fn pairs<'l>(
        &self,
        fields: &'l [u8],
        range: Range<usize>,
        line: &mut Line<'l>,
        words: &mut Words,
    ) -> Option<()> {
        let keys = self.keys.get(range.clone())?;
        let all = (1u32 << keys.len()) - 1;
        let (mut found, mut next, mut at) = (0u32, 0, 0);
        while found != all || self.last_counts {
            let Some(rest) = fields.get(at..).filter(|r| !r.is_empty()) else { break };
            let end = memchr(b' ', rest).unwrap_or(rest.len());
            let word = rest.get(..end)?;
            let here = at;
            at += end + 1;
            let Some(equals) = memchr(b'=', word) else { continue };
            let (name, value) = (word.get(..equals)?, word.get(equals + 1..)?);
            let is = |key: &Key| key.name.as_bytes() == name;
            // Mostly the keys come in the order in which they were seen first.
            let i = if keys.get(next).is_some_and(is) {
                next
            } else {
                keys.iter().position(is).unwrap_or(MOST_FIELDS)
            };
            let Some(key) = keys.get(i) else { continue };
            if found & 1 << i != 0 && !self.last_counts {
                continue;
            }
            next = i + 1;
            let number = match key.kind {
                Spelled::Number => values::number(value),
                Spelled::Pointer => values::pointer(value),
                Spelled::Function => Some(words.function(value)),
                // A state that is not known is a task that sleeps: it neither waits for I/O nor has ended.
                Spelled::State => values::number(value).or_else(|| values::state(value)).or(Some(SLEEPS)),
                Spelled::Mode => values::mode(value),
                Spelled::TimerFlags => words.timer_flags(value),
                Spelled::Dependency => values::dependency(value),
                Spelled::Below => values::below(value),
                Spelled::Timeout => values::number(value.strip_suffix(b"]").unwrap_or(value)),
                Spelled::Word => {
                    line.text = value;
                    Some(0)
                }
                Spelled::Rest => {
                    line.text = fields.get(here + equals + 1..)?;
                    Some(0)
                }
            };
            // Of a fake key in a comm the value may be anything.
            let Some(number) = number else { continue };
            if let Some(place) = line.numbers.get_mut(range.start + i) {
                *place = number;
            }
            found |= 1 << i;
            if key.kind == Spelled::Rest {
                break;
            }
        }
        (found == all).then_some(())
    }
}

impl Spelling {
    fn of(event: &str, fields: &[u8]) -> Self {
        let has = |key: &[u8]| memmem::find(fields, key).is_some();
        match event {
            "print" => Self::Whole,
            "ipi_entry" | "ipi_exit" if !fields.starts_with(b"reason=") => Self::Whole,
            "sched_switch" if TwoTasks::parse(fields).is_some() => Self::TracerSwitch,
            "sched_wakeup" if TwoTasks::parse(fields).is_some() => Self::TracerWakeup,
            "sched_switch" if has(b"prev_pid=") => Self::TwoTasks,
            "sched_switch" => Self::ShortSwitch,
            "sched_waking" | "sched_wakeup" | "sched_wakeup_new" if !has(b" pid=") => Self::ShortWakeup,
            "guest_halt_poll_ns" if !has(b"grow=") => Self::HaltPoll,
            "suspend_resume" if !has(b"start=") => Self::Step,
            "cpuhp_enter" | "cpuhp_multi_enter" | "cpuhp_exit" if !has(b"cpu=") => Self::Hotplug,
            "block_rq_issue" | "block_rq_complete" if !has(b"sector=") => Self::Request,
            _ => Self::Pairs,
        }
    }
}

/// `prev_state` of a task that sleeps interruptibly.
const SLEEPS: u64 = 1;

/// The places of the short spellings.
const SHORT_SWITCH: [&str; 5] = ["prev_pid", "prev_prio", "prev_state", "next_pid", "next_prio"];
const SHORT_WAKEUP: [&str; 2] = ["pid", "target_cpu"];
const HALT_POLL: [&str; 3] = ["new", "old", "grow"];
const STEP: [&str; 1] = ["start"];
const REQUEST: [&str; 3] = ["dev", "sector", "nr_sector"];

impl Wording<'_> {
    /// Where the word `name=` starts, if the line has it.
    fn find(&self, name: &str) -> Option<usize> {
        let is = |at: usize| {
            let start = at == 0 || self.fields.get(at - 1) == Some(&b' ');
            start && self.fields.get(at + name.len()) == Some(&b'=')
        };
        memmem::find_iter(self.fields, name).find(|at| is(*at))
    }

    fn add(&mut self, name: &'static str, kind: Spelled) -> Option<usize> {
        let key = Key { name, kind };
        if let Some(known) = self.keys.iter().position(|k| *k == key) {
            return Some(known);
        }
        if self.find(name).is_none() || self.keys.len() >= MOST_FIELDS {
            return None;
        }
        self.keys.push(key);
        Some(self.keys.len() - 1)
    }

    fn timer_start(&mut self, name: &str) -> Option<usize> {
        let mut timer = self.timer.unwrap_or_default();
        let place = if name == "now" {
            let left = self.add("[timeout", Spelled::Timeout)?;
            timer.now = Some((left, self.add("expires", Spelled::Number)?));
            left
        } else {
            let flags = self.add("flags", Spelled::TimerFlags)?;
            timer.flags = Some(flags);
            timer.cpu = self.add("cpu", Spelled::Number);
            timer.idx = self.add("idx", Spelled::Number);
            flags
        };
        self.timer = Some(timer);
        Some(place)
    }

    fn pair(&mut self, name: &str) -> Option<usize> {
        match (self.event, name) {
            ("timer_start", "now") if self.find("now").is_none() => return self.timer_start(name),
            ("timer_start", "flags") => return self.timer_start(name),
            ("cpu_idle_miss", "below") if self.find("below").is_none() => {
                return self.add("type", Spelled::Below);
            }
            _ => {}
        }
        let (name, kind) = spelled(name)?;
        self.add(name, kind)
    }
}

impl Layout for Wording<'_> {
    type Field = Place;

    fn number(&mut self, name: &str) -> Option<Place> {
        let fixed = |names: &[&str]| names.iter().position(|n| *n == name);
        let place = match self.spelling {
            Spelling::Pairs | Spelling::TwoTasks => self.pair(name),
            Spelling::ShortSwitch | Spelling::TracerSwitch => fixed(&SHORT_SWITCH),
            Spelling::ShortWakeup | Spelling::TracerWakeup => fixed(&SHORT_WAKEUP),
            Spelling::HaltPoll => fixed(&HALT_POLL),
            Spelling::Step => fixed(&STEP),
            Spelling::Hotplug => fixed(&["cpu"]),
            Spelling::Request => fixed(&REQUEST),
            Spelling::Whole => None,
        };
        u8::try_from(place?).ok().map(Place)
    }

    fn text(&mut self, name: &str) -> Option<Place> {
        match self.spelling {
            Spelling::Whole => Some(Place(0)),
            // Bytes as they lay in memory (trace-cmd report -R): in which order, no line says.
            _ if memmem::find(self.fields, b"=ARRAY[").is_some() => None,
            _ => {
                let text = |(_, kind): &(_, _)| matches!(kind, Spelled::Word | Spelled::Rest);
                let (name, kind) = spelled(name).filter(text)?;
                self.add(name, kind).and_then(|place| u8::try_from(place).ok()).map(Place)
            }
        }
    }
}

impl TimerStart {
    fn complete(self, line: &mut Line<'_>) -> Option<()> {
        let at = |line: &Line<'_>, place: usize| line.numbers.get(place).copied();
        if let Some((left, expires)) = self.now {
            let now = at(line, expires)?.wrapping_sub(at(line, left)?);
            *line.numbers.get_mut(left)? = now;
        }
        if let Some(flags) = self.flags {
            let cpu = self.cpu.and_then(|p| at(line, p)).unwrap_or(0) & 0x3_ffff;
            let idx = self.idx.and_then(|p| at(line, p)).unwrap_or(0) << 22;
            *line.numbers.get_mut(flags)? |= cpu | idx;
        }
        Some(())
    }
}

/// `comm:pid [prio]` at the end; what is before it.
fn task(text: &[u8]) -> Option<(&[u8], u64, u64)> {
    let inner = text.strip_suffix(b"]")?;
    let open = memrchr(b'[', inner)?;
    let prio = values::number(inner.get(open + 1..)?)?;
    let task = values::trim(text.get(..open)?);
    let colon = memrchr(b':', task)?;
    Some((task.get(..colon)?, values::number(task.get(colon + 1..)?)?, prio))
}

fn short_switch(fields: &[u8], line: &mut Line<'_>) -> Option<()> {
    const ARROW: &[u8] = b" ==> ";
    let (_, next_pid, next_prio) = task(values::trim(fields))?;
    let mut until = fields;
    // A comm may hold an arrow, too, or two.
    for _ in 0..4 {
        let arrow = memmem::rfind(until, ARROW)?;
        until = until.get(..arrow)?;
        let state_at = memrchr(b' ', until)? + 1;
        let state = until.get(state_at..).and_then(values::short_state);
        let prev = until.get(..state_at).map(values::trim).and_then(task);
        if let (Some(state), Some((_, prev_pid, prev_prio))) = (state, prev) {
            line.fill([prev_pid, prev_prio, state, next_pid, next_prio]);
            return Some(());
        }
    }
    None
}

fn short_wakeup(fields: &[u8], line: &mut Line<'_>) -> Option<()> {
    let at = memmem::rfind(fields, b"CPU:")?;
    let cpu = values::number(values::trim(fields.get(at + 4..)?))?;
    let before = fields.get(..at)?;
    let (_, pid, _) = task(before.get(..=memrchr(b']', before)?)?)?;
    line.fill([pid, cpu]);
    Some(())
}

/// `halt_poll_ns NEW (grow OLD)` or `(shrink OLD)`.
fn halt_poll(fields: &[u8], line: &mut Line<'_>) -> Option<()> {
    let (new, old) = fields.strip_prefix(b"halt_poll_ns ")?.strip_suffix(b")").and_then(|text| {
        let open = memmem::find(text, b" (")?;
        Some((text.get(..open)?, text.get(open + 2..)?))
    })?;
    let space = memchr(b' ', old)?;
    let (word, old) = old.split_at_checked(space)?;
    line.fill([values::number(new)?, values::number(values::trim(old))?, u64::from(word == b"grow")]);
    Some(())
}

fn hotplug(fields: &[u8]) -> Option<u64> {
    let rest = fields.strip_prefix(b"cpu:")?.trim_ascii_start();
    values::number(rest.split(|b| *b == b' ').next()?)
}

/// `ACTION[VALUE] begin` or `... end`.
fn step(fields: &[u8], line: &mut Line<'_>) -> Option<()> {
    let word = values::trim(fields).rsplit(|b| *b == b' ').next()?;
    let begins = match word {
        b"begin" => 1,
        b"end" => 0,
        _ => return None,
    };
    *line.numbers.first_mut()? = begins;
    Some(())
}

/// `MAJOR,MINOR FLAGS BYTES (COMMAND) SECTOR + SECTORS ...`, without the bytes where it ended. The device is as the kernel has it:
/// the major number above 20 bits of the minor one.
fn request(fields: &[u8], line: &mut Line<'_>) -> Option<()> {
    let (major, n) = values::digits(fields)?;
    let (minor, _) = values::digits(fields.get(n..)?.strip_prefix(b",")?)?;
    let plus = memmem::find(fields, b" + ")?;
    let sector = values::number(fields.get(..plus)?.rsplit(|b| *b == b' ').next()?)?;
    let (sectors, _) = values::digits(fields.get(plus + 3..)?)?;
    line.fill([major << 20 | minor, sector, sectors]);
    Some(())
}

/// Text that is all there is: of a marker without the place that wrote it, of a reason without its brackets.
fn whole(fields: &[u8]) -> &[u8] {
    if let Some(reason) = fields.strip_prefix(b"(").and_then(|f| f.strip_suffix(b")")) {
        return reason;
    }
    if fields.starts_with(b"ip=")
        && let Some(at) = memmem::find(fields, b" buf=")
    {
        return fields.get(at + 5..).unwrap_or_default();
    }
    [&b"tracing_mark_write: "[..], b"tracing_mark_write.isra.0: "]
        .iter()
        .find_map(|place| fields.strip_prefix(*place))
        .unwrap_or(fields)
}
