// SPDX-License-Identifier: GPL-2.0-only
use idlewise_debuginfo::{Fault, Layout, Lines, StateValue, Variable};
use idlewise_model::{IdleTable, near};

use crate::abi::{CpuDevice, Device, Inputs, MAX_CPUS};
use crate::build::Build;
use crate::choice::Choice;
use crate::error::GovernorError;
use crate::failure::FirstFailure;
use crate::governor::Governor;
use crate::object::{Object, Seat};
use crate::of_caller::CallerObject;
use crate::param::{Kind, Param};
use crate::process::Process;
use crate::region::Region;
use crate::source::GovernorSource;
use crate::spec::Spec;

/// Longest tick period, ns; also keeps products with small numbers in 64 bits.
const MAX_TICK_PERIOD_NS: u64 = 3_600_000_000_000;

/// A CPU of an [`Instance`], numbered densely in the order of adding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);

impl Slot {
    /// 0 for the CPU added first, and so on.
    #[inline]
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is needed to set up a CPU again.
struct Cpu {
    number: u32,
    capacity: u32,
    disabled: u16,
    states: usize,
}

/// A private copy of a governor: nothing in it is shared with another instance of the same governor.
///
/// It may move between threads but serves one at a time.
pub struct Instance {
    id: String,
    object: Object,
    /// The parameters that the spec set, as index into the object's, and value.
    set: Vec<(usize, u64)>,
    cpus: Vec<Cpu>,
    layout: Layout,
    /// Lines of the source by address, where the sanitizers look for faults.
    lines: Option<Lines>,
}

impl Instance {
    /// Loads a copy of a governor of ours, sets its parameters and lets it register.
    ///
    /// `tick_period_ns` is the kernel's `TICK_NSEC` (`governor-behaviour.md` 1.9).
    ///
    /// # Errors
    /// Unknown governor or parameter, a value that does not fit, an absurd tick period, or a system that does not allow loading
    /// (no `/proc`, no memory, no executable memory files).
    pub fn load(spec: &Spec, tick_period_ns: u64) -> Result<Self, GovernorError> {
        Self::of(&Governor::find(spec)?, tick_period_ns, false, &FirstFailure::default())
    }

    /// As [`Instance::load`], of what the user named. Where a foreign governor goes wrong, it chooses state 0 from then on: who
    /// wants to know uses [`Governor::run`].
    ///
    /// # Errors
    /// As [`Instance::load`], and a file that does not compile.
    pub fn open(source: &GovernorSource, tick_period_ns: u64) -> Result<Self, GovernorError> {
        Self::of(&Governor::open(source)?, tick_period_ns, false, &FirstFailure::default())
    }

    /// As [`Instance::load`], but this copy gives the reasons for its decisions, for [`Instance::take_messages`], which makes
    /// it slow. It decides the same.
    ///
    /// # Errors
    /// As [`Instance::load`].
    pub fn load_explaining(spec: &Spec, tick_period_ns: u64) -> Result<Self, GovernorError> {
        Self::of(&Governor::find(spec)?, tick_period_ns, true, &FirstFailure::default())
    }

    pub(crate) fn of(
        governor: &Governor,
        tick_period_ns: u64,
        explaining: bool,
        failure: &FirstFailure,
    ) -> Result<Self, GovernorError> {
        if !(1..=MAX_TICK_PERIOD_NS).contains(&tick_period_ns) {
            return Err(GovernorError::TickPeriod(tick_period_ns));
        }
        let id = governor.name();
        let (mut layout, mut lines) = (Layout::default(), None);
        let object = if let Some(own) = governor.own_of_caller() {
            Object::of_caller(CallerObject::new(own.clone(), tick_period_ns, failure.clone()))
        } else {
            let bytes = governor.object(explaining)?;
            if explaining {
                layout = Layout::of(&bytes);
            }
            lines = governor.is_sanitized().then(|| Lines::of(&bytes));
            match governor.bounds() {
                None => Object::load(id, &bytes)?,
                Some(bounds) => {
                    let label = governor.label();
                    let region = Region::with_object(&bytes, bounds.memory)
                        .map_err(|why| GovernorError::Lost { id: label.clone(), why })?;
                    let shadow = governor.is_sanitized().then(|| crate::build::shadow(region.stack()));
                    Object::apart(
                        id,
                        Process::new(region, shadow, label, bounds.patience_s, failure.clone())?,
                    )?
                }
            }
        };
        let set = resolve(id, &governor.spec().params, &object)?;
        let mut instance = Self { id: id.to_owned(), object, set, cpus: Vec::new(), layout, lines };
        instance.object.start(&instance.id, &instance.set, tick_period_ns)?;
        if governor.is_foreign() {
            instance.object.watch_memory();
        }
        Ok(instance)
    }

    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The parameters with their present values, in the order of the governor's file.
    #[must_use]
    pub fn params(&self) -> Vec<Param> {
        let params = self.object.params().iter().enumerate();
        let shown = params.map(|(i, p)| Param {
            name: p.name.clone(),
            description: p.description.clone(),
            type_name: p.type_name.clone(),
            value: p.kind.map_or_else(|| "?".to_owned(), |kind| kind.show(self.object.param_value(i))),
        });
        shown.collect()
    }

    /// Adds a CPU with a fresh device and enables the governor on it.
    ///
    /// `cpu` is its number, for messages and to find mistakes only; `capacity` is what `arch_scale_cpu_capacity()` says, 1024 for
    /// the biggest CPU of the machine.
    ///
    /// # Errors
    /// A CPU that was added before, more than [`MAX_CPUS`], or a governor that refuses.
    pub fn add_cpu(&mut self, cpu: u32, table: &IdleTable, capacity: u32) -> Result<Slot, GovernorError> {
        self.add_used_cpu(cpu, table, capacity, Device::default())
    }

    /// As [`Instance::add_cpu`], with a `device` that other governors have had before: a kernel that changes its governor
    /// leaves the device as it is. The states that are off by default are off.
    ///
    /// # Errors
    /// As [`Instance::add_cpu`].
    pub fn add_used_cpu(
        &mut self,
        cpu: u32,
        table: &IdleTable,
        capacity: u32,
        device: Device,
    ) -> Result<Slot, GovernorError> {
        if self.cpus.iter().any(|c| c.number == cpu) {
            return Err(GovernorError::SameCpu { id: self.id.clone(), cpu });
        }
        let slot = u32::try_from(self.cpus.len()).unwrap_or(u32::MAX);
        if self.cpus.len() >= MAX_CPUS {
            return Err(GovernorError::TooManyCpus { id: self.id.clone() });
        }
        self.check_last_state(cpu, &device, table.len())?;
        let disabled = table.disabled_by_default();
        // What enable changes beside the CPU's own data is no state that decisions leave behind.
        let watched = self.object.watched() && !self.object.shared_state_changed();
        let device = CpuDevice::of(slot, capacity, disabled, device);
        self.object.add_cpu(cpu, table, device);
        self.object.enable(slot as usize).map_err(|code| {
            self.object.remove_last_cpu();
            GovernorError::Enable { id: self.id.clone(), cpu, code }
        })?;
        if watched {
            self.object.watch_memory();
        }
        self.cpus.push(Cpu { number: cpu, capacity, disabled, states: table.len() });
        Ok(Slot(slot))
    }

    /// Puts the governor in charge of a CPU once more, after others that have left `device`; it is for the governor to
    /// forget what it knew of the CPU. The states that are off by default are off.
    ///
    /// # Errors
    /// A governor that refuses.
    pub fn enable_again(&mut self, slot: Slot, mut device: Device) -> Result<(), GovernorError> {
        let Some(cpu) = self.cpus.get(slot.index()) else { return Ok(()) };
        self.check_last_state(cpu.number, &device, cpu.states)?;
        device.store_disabled(cpu.disabled);
        *self.object.device(slot.index()) = device;
        let refused = |code| GovernorError::Enable { id: self.id.clone(), cpu: cpu.number, code };
        self.object.enable(slot.index()).map_err(refused)
    }

    /// C takes the state that the device was left in as an index.
    fn check_last_state(&self, cpu: u32, device: &Device, states: usize) -> Result<(), GovernorError> {
        let state = device.last_state_idx();
        // -1 is what governors put there themselves.
        if state == -1 || usize::try_from(state).is_ok_and(|state| state < states) {
            return Ok(());
        }
        Err(GovernorError::NoSuchState { id: self.id.clone(), cpu, state, last: states - 1 })
    }

    /// Forgets everything: the same as a new instance of the same spec to which the same CPUs were added, at a
    /// fraction of the cost.
    pub fn reset(&mut self) {
        self.object.restart(&self.set);
        for (i, cpu) in (0..).zip(&self.cpus) {
            self.object.refresh_cpu(i, CpuDevice::fresh(i as u32, cpu.capacity, cpu.disabled));
            // It said yes to the same device before.
            let _ = self.object.enable(i);
        }
    }

    /// One of its CPUs, for more than one question.
    ///
    /// The slot must be one of this instance.
    #[inline]
    pub fn seat(&mut self, slot: Slot) -> Seat<'_> {
        self.object.seat(slot.index())
    }

    /// Asks the governor for the next idle state of a CPU.
    ///
    /// The slot must be one of this instance.
    #[inline]
    pub fn select(&mut self, slot: Slot, inputs: &Inputs) -> Choice {
        self.seat(slot).select(inputs)
    }

    /// Tells the governor that the CPU has left state `entered`; `now_ns` is the CPU's clock.
    ///
    /// The measured residency is read from the [`Device`]. A state that the CPU does not have is ignored. After a
    /// rejected entry the kernel does not call this.
    #[inline]
    pub fn reflect(&mut self, slot: Slot, entered: usize, now_ns: u64) {
        self.seat(slot).reflect(entered, now_ns);
    }

    /// Name and rating under which it registered.
    #[must_use]
    pub fn registered(&self) -> (String, u32) {
        self.object.registered()
    }

    /// Whether a foreign governor was seen to change memory that belongs to no CPU: then its CPUs are not independent of each
    /// other. Ours do not.
    pub fn keeps_shared_state(&mut self) -> bool {
        self.object.shared_state_changed()
    }

    /// What the governor has said (`pr_debug` and its kin) since this was last asked, a line each.
    pub fn take_messages(&mut self) -> Vec<String> {
        self.object.take_log().lines().filter_map(|line| line.get(1..)).map(str::to_owned).collect()
    }

    /// What the sanitizers found since this was last asked, in the order of finding. Nothing in a copy that was not built
    /// [`crate::Build::Sanitized`].
    pub fn take_faults(&mut self) -> Vec<Fault> {
        let Some(lines) = &self.lines else { return Vec::new() };
        self.object.take_log().lines().filter_map(|line| Fault::read(line, lines)).collect()
    }

    /// Basic blocks that the governor has executed since it was loaded, in a copy that was built [`crate::Build::Counted`]. The counter
    /// is in the governor's own memory.
    ///
    /// # Errors
    /// There is no such counter, or more than one: the governor's file defines another.
    pub fn executed_blocks(&self) -> Result<u64, GovernorError> {
        let params = self.params();
        let mut counters = params.iter().filter(|p| p.name == Build::BLOCKS);
        let counter = counters.next().filter(|_| counters.next().is_none());
        let count = counter.and_then(|p| p.value.parse().ok());
        count.ok_or_else(|| self.lost("its count of basic blocks cannot be read"))
    }

    /// Basic blocks executed since there were `before`.
    ///
    /// # Errors
    /// The errors of [`Instance::executed_blocks`], and a counter that has gone back.
    pub fn executed_blocks_since(&self, before: u64) -> Result<u64, GovernorError> {
        let now = self.executed_blocks()?;
        now.checked_sub(before).ok_or_else(|| self.lost("its count of basic blocks has gone back"))
    }

    fn lost(&self, why: &str) -> GovernorError {
        GovernorError::Lost { id: self.id.clone(), why: why.to_owned() }
    }

    /// Spares the cost of messages until [`Instance::take_messages`] is called again.
    pub fn mute(&mut self) {
        self.object.mute();
    }

    /// What the governor remembers about a CPU at this moment, by the names of its source: per-CPU variables, then
    /// what all CPUs share. Parameters are not among it.
    ///
    /// Empty for a plain copy of a governor in C: only [`Instance::load_explaining`] knows the names.
    #[must_use]
    pub fn memory(&self, slot: Slot) -> Vec<Variable> {
        self.object.memory(slot.index(), &self.layout)
    }

    /// Gives the governor the state about a CPU that `values` say. Whether it could: a plain copy of a governor, one with other names
    /// and one that is not in C keep the state that they have.
    #[must_use]
    pub fn restore(&mut self, slot: Slot, values: &[StateValue]) -> bool {
        self.object.restore(slot.index(), &self.layout, values)
    }

    /// The CPU as its governor sees it.
    #[inline]
    pub fn device(&mut self, slot: Slot) -> &mut Device {
        self.object.device(slot.index())
    }

    /// Disables the states whose bit is set, enables the others. Like the kernel's sysfs file, a change also
    /// forgets the limit of the polling loop.
    #[inline]
    pub fn set_disabled(&mut self, slot: Slot, mask: u16) {
        self.seat(slot).set_disabled(mask);
    }
}

/// Finds the parameters of a spec and reads their values.
fn resolve(
    id: &str,
    params: &[(String, String)],
    object: &Object,
) -> Result<Vec<(usize, u64)>, GovernorError> {
    let known = object.params();
    let mut set = Vec::new();
    for (name, value) in params {
        let index =
            known.iter().position(|p| p.name == *name).ok_or_else(|| GovernorError::UnknownParam {
                id: id.to_owned(),
                name: name.clone(),
                nearest: near(name, known.iter().map(|p| p.name.as_str())).first().map(|&k| k.to_owned()),
                known: known.iter().map(|p| p.name.clone()).collect(),
            })?;
        let type_name = known.get(index).map(|p| p.type_name.clone()).unwrap_or_default();
        let kind: Kind = known.get(index).and_then(|p| p.kind).ok_or_else(|| GovernorError::UnknownType {
            id: id.to_owned(),
            name: name.clone(),
            type_name: type_name.clone(),
        })?;
        let raw = kind.parse(value).ok_or_else(|| GovernorError::BadValue {
            id: id.to_owned(),
            name: name.clone(),
            value: value.clone(),
            type_name,
            range: kind.range(),
        })?;
        set.push((index, raw));
    }
    Ok(set)
}
