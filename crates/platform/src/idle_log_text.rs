// SPDX-License-Identifier: GPL-2.0-only
use crate::pasted::plain;
use crate::{IdleLog, cpupower, powertop, turbostat};

impl IdleLog {
    /// Reads what `turbostat`, `cpupower monitor` or `powertop --csv` print; nothing where the text is something else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = &*plain(text);
        cpupower::monitor(text).or_else(|| powertop::parse(text)).or_else(|| turbostat::parse(text))
    }
}
