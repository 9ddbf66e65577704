// SPDX-License-Identifier: GPL-2.0-only
use std::fs;

use clap::CommandFactory;
use idlewise_manual::{Edition, files};

use crate::args::SelfDescribeArgs;
use crate::command::Arguments;
use crate::output::{Done, Failure, write_new};
use crate::version::{RELEASED, VERSION};

pub(crate) fn run(a: &SelfDescribeArgs) -> Done {
    let edition = Edition { version: VERSION, released: RELEASED };
    let failed = |why: std::io::Error, what: &str| Failure::Error(format!("{what}: {why}"));
    for (name, bytes) in files(&Arguments::command(), edition).map_err(|e| failed(e, "a manual page"))? {
        let path = a.to.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|e| failed(e, &folder.display().to_string()))?;
        }
        write_new(&path, &bytes, true)?;
    }
    Ok(true)
}
