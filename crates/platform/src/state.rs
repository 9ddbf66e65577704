// SPDX-License-Identifier: GPL-2.0-only
//! What is known about an idle state beyond its times.

/// What is known about an idle state beyond its times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateInfo {
    /// Description as in sysfs; may be empty.
    pub desc: String,
    /// What entering the state does to the CPU.
    pub flags: Vec<Flag>,
    /// Its residency is all ones: entered only when nothing at all is due.
    pub never: bool,
    /// What becomes of an entry that a governor asks for.
    pub entry: EntryKind,
    /// Measured time from a wake-up by IPI to running, ns, where somebody measured it.
    pub measured_wake_ns: Option<u64>,
    /// How much longer a task's first work on the CPU takes after this state, ns at any clock: caches, predictors and address
    /// translations are filled again.
    pub refill_ns: u64,
    /// For how long the CPU would have to run for the energy that entering and leaving the state cost, ns at any clock, where that is
    /// not what its target residency says.
    pub transition_ns: Option<u64>,
}

/// What becomes of an entry into an idle state that a governor asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EntryKind {
    /// The CPU enters the state.
    #[default]
    Normal,
    /// Only suspend-to-idle enters it, because a platform file says so. Governors find it switched off, as the kernel switches
    /// states off that their driver declares unusable.
    S2idle,
    /// Firmware or the driver always refuses. Governors find it switched on, and are refused.
    Refused,
}

impl EntryKind {
    /// Every value, in the order of the declaration.
    pub const ALL: [Self; 3] = [Self::Normal, Self::S2idle, Self::Refused];

    /// Its word in platform files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::S2idle => "s2idle",
            Self::Refused => "refused",
        }
    }

    /// The kind with that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|e| e.word() == word)
    }
}

/// Properties of an idle state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flag {
    /// The CPU's own timer stops; another one must wake it.
    TimerStop,
    /// Caches or TLB are flushed.
    TlbFlushed,
    /// Speculation control is switched off on the way in.
    IbrsOff,
    /// Interrupts are on while in it.
    IrqsOn,
    /// Kept on even when firmware turned deeper ones off.
    AlwaysEnable,
    /// The large floating-point state is cleared.
    InitXstate,
}

impl Flag {
    /// Every value, in the order of the declaration.
    pub const ALL: [Self; 6] = [
        Self::TimerStop,
        Self::TlbFlushed,
        Self::IbrsOff,
        Self::IrqsOn,
        Self::AlwaysEnable,
        Self::InitXstate,
    ];

    /// Its word in platform files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::TimerStop => "timer-stop",
            Self::TlbFlushed => "tlb-flushed",
            Self::IbrsOff => "ibrs-off",
            Self::IrqsOn => "irqs-on",
            Self::AlwaysEnable => "always-enable",
            Self::InitXstate => "init-xstate",
        }
    }

    /// The flag with that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.word() == word)
    }
}

/// No idle state of a kernel has a longer name or description, bytes (`CPUIDLE_NAME_LEN` and `CPUIDLE_DESC_LEN` of
/// `linux/cpuidle.h`, without the end).
const LONGEST_NAME: usize = 15;
const LONGEST_DESC: usize = 31;

/// What is wrong with the `name` and the `desc` of a state, in words that follow its own; `None` if nothing is.
pub(crate) fn too_long(name: &str, desc: &str) -> Option<String> {
    let texts = [("name", name, LONGEST_NAME), ("desc", desc, LONGEST_DESC)];
    texts
        .into_iter()
        .find(|(_, text, most)| text.len() > *most)
        .map(|(key, text, most)| format!("its `{key}` has {} bytes, a kernel's at most {most}", text.len()))
}
