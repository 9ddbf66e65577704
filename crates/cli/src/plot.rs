// SPDX-License-Identifier: GPL-2.0-only
//! The argument of `--plot`: a chart, and the file to draw it to.

use std::path::{Path, PathBuf};
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
                let quoted = |path: &Path| {
                    let name = path.display().to_string();
                    shlex::try_quote(&name).map_or_else(|_| name.clone(), Into::into)
                };
                let (png, svg) = (quoted(&file), quoted(&file.with_extension("svg")));
                Err(format!(
                    "{}: charts are SVG; `rsvg-convert -z 2 -o {png} {svg}` makes PNG of one",
                    file.display()
                ))
            }
            _ => Err(format!("{}: charts are SVG: end the name with .svg", file.display())),
        }
    }
}
