// SPDX-License-Identifier: GPL-2.0-only
//! The argument of `--plot`: a chart, and the file to draw it to.

use std::path::PathBuf;
use std::str::FromStr;

use idlewise_host::outcome::chart;

/// `CHART=FILE` of `--plot`.
#[derive(Clone, Debug)]
pub(crate) struct PlotArg {
    pub(crate) chart: &'static str,
    pub(crate) file: PathBuf,
}

impl FromStr for PlotArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, file) = text.split_once('=').ok_or("expected CHART=FILE, such as front=front.svg")?;
        let chart = chart(name)?;
        let file = PathBuf::from(file);
        let end = file.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        match end.as_deref() {
            Some("svg") => Ok(Self { chart, file }),
            Some("png") => {
                let svg = file.with_extension("svg");
                let (file, svg) = (file.display(), svg.display());
                Err(format!("{file}: charts are SVG; `rsvg-convert -z 2 -o {file} {svg}` makes PNG of {svg}"))
            }
            _ => Err(format!("{}: charts are SVG: end the name with .svg", file.display())),
        }
    }
}
