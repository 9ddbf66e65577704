// SPDX-License-Identifier: GPL-2.0-only
use std::path::PathBuf;

use clap::Args;
use idlewise_live::journal::{Restoration, guard};
use idlewise_live::{Host, Journal};

use crate::output::{Done, warn};

/// By hand: restores what dead sessions left. With a journal: the guard of the session that writes it.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Wait at standard input for the end of the session that writes this journal
    #[arg(hide = true, value_name = "JOURNAL")]
    journal: Option<PathBuf>,
    /// A folder with sys and proc in it, instead of this machine
    #[arg(long, hide = true, value_name = "DIR", default_value = "/")]
    root: PathBuf,
}

pub(crate) fn run(a: &RestoreArgs) -> Done {
    let done = match &a.journal {
        None => Journal::open_guarded_by(&Host::below(&a.root), None)?.leftovers().clone(),
        Some(journal) => {
            // Who ends the session by a signal to many processes must not end its guard: it leaves by itself.
            let _ = ctrlc::set_handler(|| ());
            let Some(done) = guard(journal)? else { return Ok(true) };
            done
        }
    };
    tell(&done, true);
    Ok(done.failed.is_empty())
}

/// Says on standard error what was restored; what went as it should only if `all`.
pub(crate) fn tell(what: &Restoration, all: bool) {
    for line in what.lines(all) {
        warn(&line);
    }
}
