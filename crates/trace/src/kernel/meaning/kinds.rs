// SPDX-License-Identifier: GPL-2.0-only
//! How formats store the fields of the kernel's events: what has to be there, and the value that comes of it.

use std::fmt::Debug;
use std::iter;

use idlewise_model::{Asked, CpuMask, GovernorName, HrtimerMode, Ipi, TimerFlags, Vector};

use super::key::{Keys, Spelled};
use super::layout::{Layout, Values};
use super::vectors::{ipi, vector};

/// Looks up the fields of an event and remembers the first that is missing.
pub(crate) struct Needs<'a, L: Layout> {
    layout: &'a mut L,
    pub(super) missing: Option<String>,
}

impl<'a, L: Layout> Needs<'a, L> {
    pub(super) fn new(layout: &'a mut L) -> Self {
        Self { layout, missing: None }
    }

    /// The first name that the event has as a number.
    fn known(&mut self, keys: Keys) -> Option<L::Field> {
        iter::once(&keys.name).chain(keys.also).find_map(|name| self.layout.number(name))
    }

    /// As [`Needs::known`]; a missing one is noted.
    fn any(&mut self, keys: Keys) -> Option<L::Field> {
        self.known(keys).or_else(|| self.lack(keys.name))
    }

    fn get(&mut self, name: &str) -> Option<L::Field> {
        self.layout.number(name).or_else(|| self.lack(name))
    }

    fn text(&mut self, name: &str) -> Option<L::Field> {
        self.layout.text(name)
    }

    /// Notes that `name` is missing.
    fn lack(&mut self, name: &str) -> Option<L::Field> {
        self.missing.get_or_insert_with(|| name.to_owned());
        None
    }
}

/// How a field of type `T` is stored.
pub(crate) trait Kind<T> {
    /// What is remembered of where it is.
    type Place<F: Copy + Debug>: Copy + Debug;

    /// How a line of text spells it: under its first name, and under the others. None: text is not asked for it.
    const SPELLED: [Option<Spelled>; 2] = [Some(Spelled::Number); 2];
    /// It is a task, and its second name is that of the task's name.
    const TASK: bool = false;

    /// Finds it in the event called `event`; `None`: the event cannot be understood.
    fn find<L: Layout>(n: &mut Needs<'_, L>, keys: Keys, event: &str) -> Option<Self::Place<L::Field>>;

    fn get<F: Copy + Debug>(place: Self::Place<F>, v: &impl Values<F>) -> T;
}

/// A field that decides whether an event is of its kind.
pub(crate) trait Condition {
    /// What is remembered of where it is.
    type Place<F: Copy + Debug>: Copy + Debug;

    const SPELLED: Option<Spelled>;

    /// As [`Kind::find`].
    fn find<L: Layout>(n: &mut Needs<'_, L>, key: &str, event: &str) -> Option<Self::Place<L::Field>>;

    /// Whether the event with values `v` is of the kind.
    fn holds<F: Copy + Debug>(place: Self::Place<F>, v: &impl Values<F>) -> bool;
}

/// Fields that every event must have as a number.
macro_rules! needed {
    ($($(#[$doc:meta])* $kind:ident $spelled:ident { $($type:ty = |$v:ident, $at:ident| $get:expr;)+ })+) => {$(
        $(#[$doc])*
        pub(crate) struct $kind;

        $(impl Kind<$type> for $kind {
            type Place<F: Copy + Debug> = F;

            const SPELLED: [Option<Spelled>; 2] = [Some(Spelled::$spelled); 2];

            fn find<L: Layout>(n: &mut Needs<'_, L>, keys: Keys, _: &str) -> Option<L::Field> {
                n.any(keys)
            }

            #[inline(always)]
            fn get<F: Copy + Debug>($at: F, $v: &impl Values<F>) -> $type {
                $get
            }
        })+
    )+};
}

needed! {
    /// A number that means itself.
    Number Number {
        u8 = |v, at| v.u64(at) as u8;
        u32 = |v, at| v.u32(at);
        i32 = |v, at| v.i32(at);
        u64 = |v, at| v.u64(at);
        i64 = |v, at| v.i64(at);
        bool = |v, at| v.bool(at);
    }
    /// A set of bits.
    Bits Number {
        u16 = |v, at| v.u64(at) as u16;
        Asked = |v, at| Asked(v.u32(at));
    }
    /// An idle state; the highest number stands for none.
    EnteredState Number { Option<u32> = |v, at| Some(v.u32(at)).filter(|state| *state != u32::MAX); }
    /// A CPU that a task is woken for.
    TargetCpu Number { u32 = |v, at| v.u32(at); }
    /// Whether a task waited for I/O.
    IoWait Number { bool = |v, at| v.bool(at); }
    Softirq Number { u32 = |v, at| v.u32(at); }
    /// The verdict of a `cpu_idle_miss`; in text it may be a word.
    Below Number { bool = |v, at| v.bool(at); }
    /// An address that is no function's.
    Pointer Pointer { u64 = |v, at| v.u64(at); }
    /// The state of a task, in text by letters.
    PrevState State { u64 = |v, at| v.u64(at); }
}

/// Fields that not every kernel records, or without which an event still means something.
macro_rules! optional {
    ($($(#[$doc:meta])* $kind:ident $spelled:ident { $($type:ty = |$v:ident, $at:ident| $get:expr;)+ })+) => {$(
        $(#[$doc])*
        pub(crate) struct $kind;

        $(impl Kind<$type> for $kind {
            type Place<F: Copy + Debug> = Option<F>;

            const SPELLED: [Option<Spelled>; 2] = [Some(Spelled::$spelled); 2];

            fn find<L: Layout>(n: &mut Needs<'_, L>, keys: Keys, _: &str) -> Option<Option<L::Field>> {
                Some(n.known(keys))
            }

            #[inline(always)]
            fn get<F: Copy + Debug>($at: Option<F>, $v: &impl Values<F>) -> $type {
                $get
            }
        })+
    )+};
}

optional! {
    /// A number of newer kernels.
    Newer Number {
        Option<bool> = |v, at| at.map(|at| v.bool(at));
        Option<u64> = |v, at| at.map(|at| v.u64(at));
    }
    /// The mode of an hrtimer; 0 where it is not recorded.
    Mode Mode { HrtimerMode = |v, at| HrtimerMode(at.map_or(0, |at| v.u32(at))); }
    /// The flags of a wheel timer; 0 where they are not recorded.
    WheelFlags TimerFlags { TimerFlags = |v, at| TimerFlags(at.map_or(0, |at| v.u32(at))); }
    /// A function of the kernel; 0 where it is not recorded.
    Function Function { u64 = |v, at| at.map_or(0, |at| v.function(at)); }
    /// What keeps the tick, as bits; 0 before 4.5, where it was a text.
    Dependency Dependency { u32 = |v, at| at.map_or(0, |at| v.u32(at)); }
}

/// A task; its second name is that of the field with the task's name.
pub(crate) struct Task;

impl Kind<i32> for Task {
    type Place<F: Copy + Debug> = F;

    const SPELLED: [Option<Spelled>; 2] = [Some(Spelled::Number), None];
    const TASK: bool = true;

    fn find<L: Layout>(n: &mut Needs<'_, L>, keys: Keys, _: &str) -> Option<L::Field> {
        n.get(keys.name)
    }

    #[inline(always)]
    fn get<F: Copy + Debug>(place: F, v: &impl Values<F>) -> i32 {
        v.i32(place)
    }
}

/// An interrupt and, if the format has it, the name of its handler, which is its second name.
pub(crate) struct Handler;

impl Kind<i32> for Handler {
    type Place<F: Copy + Debug> = (F, Option<F>);

    const SPELLED: [Option<Spelled>; 2] = [Some(Spelled::Number), Some(Spelled::Rest)];

    fn find<L: Layout>(n: &mut Needs<'_, L>, keys: Keys, _: &str) -> Option<(L::Field, Option<L::Field>)> {
        let irq = n.get(keys.name)?;
        Some((irq, keys.also.iter().find_map(|name| n.text(name))))
    }

    #[inline(always)]
    fn get<F: Copy + Debug>((irq, _): (F, Option<F>), v: &impl Values<F>) -> i32 {
        v.i32(irq)
    }
}

/// When a wheel timer was armed, jiffies. Its second name is the time at which the timer expires: text has the difference.
pub(crate) struct ArmedAt;

impl Kind<u64> for ArmedAt {
    type Place<F: Copy + Debug> = F;

    fn find<L: Layout>(n: &mut Needs<'_, L>, keys: Keys, _: &str) -> Option<L::Field> {
        n.get(keys.name)
    }

    #[inline(always)]
    fn get<F: Copy + Debug>(place: F, v: &impl Values<F>) -> u64 {
        v.u64(place)
    }
}

pub(crate) struct Text;

impl Kind<GovernorName> for Text {
    type Place<F: Copy + Debug> = F;

    const SPELLED: [Option<Spelled>; 2] = [Some(Spelled::Word); 2];

    fn find<L: Layout>(n: &mut Needs<'_, L>, keys: Keys, _: &str) -> Option<L::Field> {
        n.text(keys.name).or_else(|| n.lack(keys.name))
    }

    fn get<F: Copy + Debug>(place: F, v: &impl Values<F>) -> GovernorName {
        GovernorName::new(v.text(place))
    }
}

/// No field: the name of the event has this end, or what is before the end.
pub(crate) struct NameEnd;

impl Kind<bool> for NameEnd {
    type Place<F: Copy + Debug> = bool;

    const SPELLED: [Option<Spelled>; 2] = [None; 2];

    fn find<L: Layout>(_: &mut Needs<'_, L>, keys: Keys, event: &str) -> Option<bool> {
        Some(event.ends_with(keys.name))
    }

    #[inline(always)]
    fn get<F: Copy + Debug>(has: bool, _: &impl Values<F>) -> bool {
        has
    }
}

impl Kind<Vector> for NameEnd {
    type Place<F: Copy + Debug> = Vector;

    const SPELLED: [Option<Spelled>; 2] = [None; 2];

    fn find<L: Layout>(_: &mut Needs<'_, L>, keys: Keys, event: &str) -> Option<Vector> {
        event.strip_suffix(keys.name).map(vector)
    }

    #[inline(always)]
    fn get<F: Copy + Debug>(vector: Vector, _: &impl Values<F>) -> Vector {
        vector
    }
}

/// Where the reason of an inter-processor interrupt is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReasonPlace<F> {
    /// As the address of a text in the kernel.
    Address(F),
    /// As a text in the event.
    Text(F),
}

/// Why a CPU interrupts another.
pub(crate) struct Reason;

impl Kind<Ipi> for Reason {
    type Place<F: Copy + Debug> = ReasonPlace<F>;

    const SPELLED: [Option<Spelled>; 2] = [Some(Spelled::Rest); 2];

    fn find<L: Layout>(n: &mut Needs<'_, L>, keys: Keys, _: &str) -> Option<ReasonPlace<L::Field>> {
        n.text(keys.name).map(ReasonPlace::Text).or_else(|| n.get(keys.name).map(ReasonPlace::Address))
    }

    #[inline(never)]
    fn get<F: Copy + Debug>(place: ReasonPlace<F>, v: &impl Values<F>) -> Ipi {
        match place {
            ReasonPlace::Address(field) => v.ipi_at(field),
            ReasonPlace::Text(field) => ipi(&String::from_utf8_lossy(v.text(field))),
        }
    }
}

/// CPUs. Some formats have a mask as a number that means nothing: Perfetto, and the raw text of trace-cmd.
pub(crate) struct Cpus;

impl Kind<CpuMask> for Cpus {
    type Place<F: Copy + Debug> = F;

    const SPELLED: [Option<Spelled>; 2] = [Some(Spelled::Word); 2];

    fn find<L: Layout>(n: &mut Needs<'_, L>, keys: Keys, _: &str) -> Option<L::Field> {
        n.text(keys.name)
    }

    fn get<F: Copy + Debug>(place: F, v: &impl Values<F>) -> CpuMask {
        v.cpus(place)
    }
}

/// The CPUs that an `ipi_raise` is for, under the name that a line of text has for them; the reason may follow in it.
pub(crate) struct TargetCpus;

impl TargetCpus {
    /// The name of the kernel's field.
    const FIELD: &str = "target_cpus";
    /// What stands for it in a line of text.
    const IN_TEXT: &str = "target_mask";

    fn place<L: Layout>(n: &mut Needs<'_, L>) -> Option<L::Field> {
        n.text(Self::FIELD).or_else(|| n.text(Self::IN_TEXT))
    }
}

impl Kind<CpuMask> for TargetCpus {
    type Place<F: Copy + Debug> = F;

    const SPELLED: [Option<Spelled>; 2] = [Some(Spelled::Rest); 2];

    fn find<L: Layout>(n: &mut Needs<'_, L>, _: Keys, _: &str) -> Option<L::Field> {
        Self::place(n)
    }

    fn get<F: Copy + Debug>(place: F, v: &impl Values<F>) -> CpuMask {
        v.cpus(place)
    }
}

/// The reason of an `ipi_raise`: a field of its own, or what follows the CPUs.
pub(crate) struct TargetReason;

impl Kind<Ipi> for TargetReason {
    type Place<F: Copy + Debug> = ReasonPlace<F>;

    const SPELLED: [Option<Spelled>; 2] = [Some(Spelled::Rest); 2];

    fn find<L: Layout>(n: &mut Needs<'_, L>, keys: Keys, _: &str) -> Option<ReasonPlace<L::Field>> {
        let own = n.text(keys.name).map(ReasonPlace::Text);
        let own = own.or_else(|| n.known(keys).map(ReasonPlace::Address));
        own.or_else(|| TargetCpus::place(n).map(ReasonPlace::Text))
    }

    fn get<F: Copy + Debug>(place: ReasonPlace<F>, v: &impl Values<F>) -> Ipi {
        <Reason as Kind<Ipi>>::get(place, v)
    }
}

/// The task group that a load is of: only that of the root counts. Without a field the load is of the whole CPU.
pub(crate) struct RootGroup;

impl RootGroup {
    /// The event that is of CPUs only.
    const OF_CPUS: &str = "sched_load_avg_cpu";
}

impl Condition for RootGroup {
    type Place<F: Copy + Debug> = Option<F>;

    const SPELLED: Option<Spelled> = Some(Spelled::Word);

    fn find<L: Layout>(n: &mut Needs<'_, L>, key: &str, event: &str) -> Option<Option<L::Field>> {
        if event == Self::OF_CPUS {
            return Some(None);
        }
        n.text(key).or_else(|| n.lack(key)).map(Some)
    }

    fn holds<F: Copy + Debug>(place: Option<F>, v: &impl Values<F>) -> bool {
        place.is_none_or(|path| v.text(path) == b"/")
    }
}
