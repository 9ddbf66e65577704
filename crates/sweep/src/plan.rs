// SPDX-License-Identifier: GPL-2.0-only
//! A sweep as a file: the fields of [`SweepRequest`] as TOML.

use std::path::{Path, PathBuf};

use idlewise_governor::{Spec, catalog};
use idlewise_recording::{CommandError, governors};

use crate::args::MOST_DRAWN;
use crate::request::SweepRequest;
use crate::space::parted;

impl SweepRequest {
    /// Reads a plan. Recordings and workloads that are files are relative to its folder; it names no C file and no kernel tree.
    ///
    /// # Errors
    /// [`CommandError::File`] with the line at fault.
    pub fn read(path: &Path) -> Result<Self, CommandError> {
        let wrong = |why: String| CommandError::file(path, why);
        let text = idlewise_files::read_to_string(path).map_err(|e| wrong(e.to_string()))?;
        let mut plan: Self =
            toml::from_str(&text).map_err(|e| wrong(format!("not a plan of a sweep: {e}")))?;
        let ships = |text: &String| {
            let head = parted(governors::labelled(text).1).0;
            catalog().iter().any(|g| g.id == Spec::split(head).0)
        };
        if let Some(other) = plan.governors.iter().chain(&plan.baseline).find(|text| !ships(text)) {
            return Err(wrong(format!(
                "governor `{other}` does not ship with idlewise; a plan compiles nothing: name it by --governor"
            )));
        }
        if !plan.kernel_trees.is_empty() {
            return Err(wrong(
                "kernel_trees: a plan compiles nothing; name them by --kernel-tree".to_owned(),
            ));
        }
        if plan.sample == Some(0) || plan.sample.is_some_and(|n| n > MOST_DRAWN) {
            return Err(wrong(format!("sample: expected 1 to {MOST_DRAWN}")));
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        // Of URLs, which a cluster reads, nothing is relative.
        let of_plan = |recording: &PathBuf| {
            let is_url = recording.to_string_lossy().contains("://");
            if is_url { recording.clone() } else { folder.join(recording) }
        };
        plan.recordings = plan.recordings.iter().map(of_plan).collect();
        let shipped = |name: &str| idlewise_workload::shipped().iter().any(|(own, _)| *own == name);
        for workload in plan.workloads.iter_mut().filter(|name| !shipped(name)) {
            // A name that is none is refused as one.
            let file = folder.join(&*workload);
            if file.exists() {
                *workload = file.display().to_string();
            }
        }
        Ok(plan)
    }
}
