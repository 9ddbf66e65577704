// SPDX-License-Identifier: GPL-2.0-only
//! The same traces as directories of raw ring buffers.

use std::fs;
use std::path::{Path, PathBuf};

use super::{COMMS, Dat};

/// Where the parts of a directory lie.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// As in tracefs.
    Tracefs,
    /// As tools/record.sh keeps them.
    Record,
    /// As schedviz' recorder does.
    Schedviz,
    /// As `trace-cmd record` does meanwhile.
    TraceCmd,
}

impl Dat {
    /// Writes the trace to `directory`.
    pub fn write_directory(&self, directory: &Path, shape: Shape) {
        for (name, bytes) in self.files(shape) {
            let path = directory.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
    }

    /// The files of such a directory.
    pub fn files(&self, shape: Shape) -> Vec<(PathBuf, Vec<u8>)> {
        let (pages, base, formats): (&dyn Fn(u32) -> String, _, _) = match shape {
            Shape::Tracefs => (&|cpu| format!("per_cpu/cpu{cpu}/trace_pipe_raw"), "", "events"),
            Shape::Record => (&|cpu| format!("cpu{cpu}"), "tracing", "events"),
            Shape::Schedviz => (&|cpu| format!("traces/cpu{cpu}"), "", "formats"),
            Shape::TraceCmd => (&|cpu| format!("trace.dat.cpu{cpu}"), "", "events"),
        };
        let base = Path::new(base);
        let mut all: Vec<(PathBuf, Vec<u8>)> =
            self.cpus.iter().map(|(cpu, of_cpu)| (pages(*cpu).into(), self.pages(of_cpu))).collect();
        let mut text = |path: PathBuf, text: String| all.push((path, text.into_bytes()));
        text(base.join(formats).join("header_page"), self.header_page());
        for (system, format) in &self.formats {
            let name = format.lines().find_map(|l| l.strip_prefix("name: ")).unwrap();
            text(base.join(formats).join(system).join(name).join("format"), format.clone());
        }
        text(base.join("saved_cmdlines"), COMMS.to_owned());
        text(base.join("printk_formats"), self.printk.clone());
        text(base.join("trace_clock"), format!("local global [{}]\n", self.clock));
        text("kallsyms".into(), self.kallsyms.clone());
        text("uname".into(), "6.9.1 x86_64\n".to_owned());
        all
    }
}
