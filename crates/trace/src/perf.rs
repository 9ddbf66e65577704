// SPDX-License-Identifier: GPL-2.0-only
//! `perf.data`, the file of perf: what `perf record` wrote to a file or to a pipe, compressed or not.
//!
//! Memory: a window of the file, and what waits to be put in order, events of two rounds of perf's reading of the
//! buffers; never more than [`events::MOST_WAITING`] of them.

mod attr;
mod events;
mod features;
mod file;
mod header;
mod losses;
mod records;

use std::path::Path;

use events::PerfEvents;
use file::PerfFile;
pub(crate) use header::{MAGIC, MAGIC_BIG};

use crate::error::TraceError;
use crate::input::Input;
use crate::kernel::order::{Big, ByteOrder, Little};
use crate::kernel::tick;
use crate::meta::TraceMeta;
use crate::reader::{Reader, Stream};
use crate::symbols::Symbols;

pub(crate) fn open(input: Input) -> Result<Box<dyn Reader>, TraceError> {
    open_with(input, None)
}

/// The recording that `perf record --kcore` made in a directory; the kernel's symbols stand beside the data.
pub(crate) fn open_directory(path: &Path) -> Result<Box<dyn Reader>, TraceError> {
    if path.join("data.0").exists() {
        return Err(TraceError::Unsupported {
            path: path.to_path_buf(),
            what: "a perf.data of several files (perf record --threads) is".to_owned(),
            advice: "record without --threads",
        });
    }
    let symbols = symbols(&path.join("kcore_dir/kallsyms"))?;
    open_with(Input::open(&path.join("data"))?, symbols)
}

/// The kernel's symbols in a file beside the data, where it is there.
fn symbols(path: &Path) -> Result<Option<Symbols>, TraceError> {
    match idlewise_files::read_within(path, idlewise_files::LARGEST_MADE) {
        Ok(bytes) => Ok(Some(Symbols::new(bytes))),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(TraceError::Open { path: path.to_path_buf(), source }),
    }
}

fn open_with(input: Input, symbols: Option<Symbols>) -> Result<Box<dyn Reader>, TraceError> {
    let hash = input.hash()?;
    let mut header = header::read(&input)?;
    header.meta.hash = hash;
    header.meta.bytes = input.len();
    if let Some(symbols) = symbols {
        header.meta.symbols = symbols;
    }
    let header::Header { meta, order, decoders, attrs, buffers, data } = header;
    let mut file = PerfFile { input, meta, order, decoders, attrs, buffers, data };
    if file.meta.symbols.is_empty() {
        // perf leaves the kernel's symbols out.
        let found = tick::find(&mut *file.events()?);
        if let Some(tick) = found {
            tick.tell(&mut file.meta);
        }
    }
    Ok(Box::new(file))
}

impl Reader for PerfFile {
    fn meta(&self) -> &TraceMeta {
        &self.meta
    }

    fn inputs(&self) -> Vec<&Input> {
        vec![&self.input]
    }

    fn events(&self) -> Result<Box<dyn Stream + '_>, TraceError> {
        Ok(match self.order {
            ByteOrder::Little => Box::new(PerfEvents::new(self, Little)),
            ByteOrder::Big => Box::new(PerfEvents::new(self, Big)),
        })
    }
}
