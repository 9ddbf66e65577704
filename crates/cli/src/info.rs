// SPDX-License-Identifier: GPL-2.0-only
use idlewise_page as pages;
use idlewise_study::info;
use idlewise_view as view;

use crate::args::InfoArgs;
use crate::output::{Done, Progress, deliver_of};

pub(crate) fn run(a: &InfoArgs) -> Done {
    a.output.check()?;
    let info = {
        let options = a.recording.options();
        let _progress = Progress::reading("reading", &options.meter);
        info::info(&a.trace, &options, &a.kernels.trees)?
    };
    let recording = pages::file_hash(&info.path, &info.hash);
    deliver_of(&[recording], &a.output, &view::info(&info), &info)
}
