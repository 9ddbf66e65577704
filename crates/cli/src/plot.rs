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
    pub(crate) form: Form,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    Svg,
    Png,
}

impl FromStr for PlotArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, file) = text.split_once('=').ok_or("expected CHART=FILE, such as front=front.svg")?;
        let chart = chart(name)?;
        let file = PathBuf::from(file);
        let end = file.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        let form = match end.as_deref() {
            Some("svg") => Form::Svg,
            Some("png") => Form::Png,
            _ => return Err(format!("{}: end the name with .svg or .png", file.display())),
        };
        Ok(Self { chart, file, form })
    }
}
