// SPDX-License-Identifier: GPL-2.0-only
//! What is sent to where parts of a sweep are computed. It names governors that ship with idlewise, and compiled code by its content;
//! nothing in it is compiled.

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::path::Path;

use idlewise_governor::{Governor, Spec};
use idlewise_recording::CommandError;
use serde::{Deserialize, Serialize};

use crate::axis::Axis;
use crate::design::Design;
use crate::request::SweepRequest;
use crate::sample::Draw;
use crate::space::Space;

/// Compiled code of governors that do not ship with idlewise, by its content.
pub type SentCode = BTreeMap<String, Vec<u8>>;

/// What is to be computed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    pub(crate) version: String,
    /// What processors compiled code is for.
    arch: String,
    /// What recordings are replayed with; it names no recording and no governor.
    pub(crate) request: SweepRequest,
    governors: Vec<GovernorOrder>,
    baseline: GovernorOrder,
    baseline_values: Vec<(String, String)>,
    /// Machines that do not ship with idlewise, as TOML, by what the request calls them.
    pub(crate) machines: BTreeMap<String, String>,
}

/// A governor, and the values of its parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GovernorOrder {
    name: String,
    /// One that ships; code that is sent where nothing is given.
    id: Option<String>,
    /// Of its compiled code.
    object: String,
    axes: Vec<Axis>,
}

impl GovernorOrder {
    fn of(space: &Space) -> Self {
        let own = &space.governor;
        Self {
            name: space.name.clone(),
            id: (!own.is_foreign()).then(|| own.spec().id.clone()),
            object: hex(space.object),
            axes: space.axes.clone(),
        }
    }

    fn space(&self, draw: Option<Draw>, sent: &SentCode, arch: &str) -> Result<Space, CommandError> {
        let wrong = |why: String| CommandError::argument("--governor", &self.name, why);
        let governor = match &self.id {
            Some(id) => Governor::find(&Spec::new(id))?,
            None if arch != ARCH => {
                return Err(wrong(format!("its code was compiled for {arch}, and this machine is {ARCH}")));
            }
            None => {
                let code = sent.get(&self.object).ok_or_else(|| wrong("its code was not sent".to_owned()))?;
                Governor::carried(code)?
            }
        };
        let space = Space::new(governor, self.name.clone(), self.axes.clone(), draw, &self.name)?;
        if hex(space.object) != self.object {
            let why = "it is compiled to other code here: this is another build of the same version; install the same one";
            return Err(wrong(why.to_owned()));
        }
        Ok(space)
    }
}

fn hex(object: u128) -> String {
    format!("{object:032x}")
}

impl Order {
    /// # Errors
    /// [`CommandError`] where a machine cannot be found or read.
    pub(crate) fn new(request: &SweepRequest, design: &Design) -> Result<Self, CommandError> {
        let mut machines = BTreeMap::new();
        let ships = |name: &str| idlewise_platform::shipped().iter().any(|(id, _)| *id == name);
        // `same` is the machine of the other option.
        let recorded_on = request.recorded_on.as_ref().filter(|name| *name != "same");
        for name in request.platforms.iter().chain(recorded_on).filter(|name| !ships(name)) {
            machines.insert(name.clone(), idlewise_platform::find(name)?.to_toml());
        }
        let baseline_values = design.baseline.values.clone();
        let baseline = GovernorOrder { axes: Vec::new(), ..GovernorOrder::of(&design.compared_with) };
        let request = SweepRequest {
            governors: Vec::new(),
            baseline: None,
            recordings: Vec::new(),
            kernel_trees: Vec::new(),
            ..request.clone()
        };
        Ok(Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            arch: ARCH.to_owned(),
            request,
            governors: design.spaces.iter().map(GovernorOrder::of).collect(),
            baseline,
            baseline_values,
            machines,
        })
    }

    /// The settings that it means.
    ///
    /// # Errors
    /// [`CommandError`] where a governor is not here.
    pub(crate) fn design(&self, sent: &SentCode) -> Result<Design, CommandError> {
        let draw = self.request.draw();
        let spaces = self.governors.iter().map(|order| order.space(draw, sent, &self.arch));
        let spaces = spaces.collect::<Result<_, _>>()?;
        let compared_with = self.baseline.space(None, sent, &self.arch)?;
        let baseline = compared_with.with_values(self.baseline_values.clone())?;
        Ok(Design { spaces, compared_with, baseline })
    }

    /// Writes the machines into `folder`; gives where each is.
    ///
    /// # Errors
    /// [`CommandError::File`] where it cannot be written to.
    pub(crate) fn write_machines(&self, folder: &Path) -> Result<BTreeMap<String, String>, CommandError> {
        let mut out = BTreeMap::new();
        for (n, (name, toml)) in self.machines.iter().enumerate() {
            let path = folder.join(format!("machine-{n}.toml"));
            std::fs::write(&path, toml).map_err(|e| CommandError::file(&path, e))?;
            out.insert(name.clone(), path.display().to_string());
        }
        Ok(out)
    }
}
