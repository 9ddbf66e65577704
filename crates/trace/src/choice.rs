// SPDX-License-Identifier: GPL-2.0-only
use std::path::Path;

use crate::error::TraceError;

/// What to read of a trace that holds several.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The name of a trace instance; empty for the kernel's top one. `None` reads the top one or, if that has no events,
    /// the only one that has some. Formats that know no instances have the top one only.
    pub instance: Option<String>,
}

impl Choice {
    /// For formats that know no instances.
    pub(crate) fn only_top(&self, path: &Path) -> Result<(), TraceError> {
        match &self.instance {
            Some(name) if !name.is_empty() => Err(TraceError::NoInstance {
                path: path.to_path_buf(),
                name: name.clone(),
                there: "the top trace instance only".to_owned(),
            }),
            _ => Ok(()),
        }
    }
}
