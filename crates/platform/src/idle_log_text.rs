// SPDX-License-Identifier: GPL-2.0-only
use crate::pasted::plain;
use crate::{IdleLog, PlatformError, cpupower, powertop, turbostat};

impl IdleLog {
    /// Reads what `turbostat`, `cpupower monitor` or `powertop --csv` print; nothing where the text is something else. `name` is
    /// how errors call it.
    ///
    /// # Errors
    /// [`PlatformError::Dump`] where a mailer broke the lines of a table and its rows cannot be told from each other, or the text
    /// has tables of several machines.
    pub fn parse(text: &str, name: &str) -> Result<Option<Self>, PlatformError> {
        let text = &*plain(text);
        if let Some(log) = cpupower::monitor(text).or_else(|| powertop::parse(text)) {
            return Ok(Some(log));
        }
        let joined = turbostat::joined(text).map_err(|what| PlatformError::Dump {
            file: name.to_owned(),
            what,
            hint: "give the file that turbostat --out wrote".to_owned(),
        })?;
        let log = turbostat::parse(joined.as_deref().unwrap_or(text));
        if let Some([first, second, ..]) = log.as_ref().map(Self::hosts).as_deref() {
            return Err(PlatformError::Dump {
                file: name.to_owned(),
                what: format!("tables of several machines: {first}, {second}"),
                hint: "put what each machine printed into a file of its own".to_owned(),
            });
        }
        Ok(log)
    }
}
