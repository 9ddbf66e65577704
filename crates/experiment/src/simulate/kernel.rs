// SPDX-License-Identifier: GPL-2.0-only
//! What `--kernel` and `--signal` mean.

use idlewise_model::{did_you_mean, near};
use idlewise_parts::FairKind;
use idlewise_signal::pelt::{Config, HalfLife, Pelt, PeltError, known_kernel};
use idlewise_signal::walt;
use idlewise_sim::Signal;

use crate::ExperimentError;
use idlewise_recording::CommandError;

/// A kernel's version: which PELT and which fair scheduler the machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Kernel {
    major: u32,
    minor: u32,
}

impl Kernel {
    pub(crate) fn parse(text: &str) -> Result<Self, CommandError> {
        let wrong =
            || argument("--kernel", "kernel", text, "write its version as MAJOR.MINOR, such as 6.12 or 4.8");
        let (major, minor) = text.split_once('.').ok_or_else(wrong)?;
        let number = |t: &str| t.parse::<u32>().map_err(|_| wrong());
        let (major, minor) = (number(major)?, number(minor)?);
        match known_kernel(major, minor) {
            Ok(()) => Ok(Self { major, minor }),
            Err(why) => Err(argument("--kernel", "kernel", text, &why)),
        }
    }

    pub(crate) fn pelt(self) -> Result<Config, PeltError> {
        Config::kernel(self.major, self.minor).ok_or(PeltError::Kernel(self.major, self.minor))
    }

    /// A busy CPU's tick wakes an idle one after a tick was stopped, since 5.15.
    pub(crate) fn kicks_for_next(self) -> bool {
        (self.major, self.minor) >= (5, 15)
    }

    /// A deadline server for fair tasks that goes on while its CPU is idle, since 6.17; stable kernels of 6.12 have it too
    /// (6.12.117).
    pub(crate) fn fair_server(self) -> bool {
        (self.major, self.minor) == (6, 12) || (self.major, self.minor) >= (6, 17)
    }

    /// EEVDF since 6.6.
    pub(crate) fn fair(self, cpus: usize) -> FairKind {
        if (self.major, self.minor) >= (6, 6) { FairKind::eevdf(cpus) } else { FairKind::cfs(cpus) }
    }
}

/// PELT's settings in the kernel of that version, such as 6.12.
///
/// # Errors
/// [`ExperimentError`] where the text is no version, or its PELT is not known.
pub fn pelt_of(kernel: &str) -> Result<Config, ExperimentError> {
    Ok(Kernel::parse(kernel)?.pelt()?)
}

/// PELT's settings, and what frequency governors read, of a signal such as `walt:window_ms=10` in the kernel of that version.
///
/// # Errors
/// [`ExperimentError`] as of [`pelt_of`], and where there is no such signal or a parameter makes no sense.
pub fn signal_of(text: &str, kernel: &str) -> Result<(Pelt, Signal), ExperimentError> {
    signal(text, Kernel::parse(kernel)?)
}

/// The `text` of `option` cannot be used, and why.
fn argument(option: &'static str, what: &str, text: &str, why: &str) -> CommandError {
    CommandError::argument(option, format!("{what} `{text}`"), why)
}

/// A signal of a request, as PELT's settings and what frequency governors read.
pub(crate) fn signal(text: &str, kernel: Kernel) -> Result<(Pelt, Signal), ExperimentError> {
    let wrong = |why: &str| argument("--signal", "signal", text, why);
    let (name, params) = text.split_once(':').unwrap_or((text, ""));
    let mut pelt = kernel.pelt()?;
    let mut signal = match name {
        "pelt" => Signal::Pelt,
        "walt" => Signal::Walt(walt::Config::android()),
        "walt-3.18" => Signal::Walt(walt::Config { place_by_busy_time: true, ..walt::Config::android() }),
        "walt-rfc" => Signal::Walt(walt::Config::rfc()),
        _ => {
            let nearest = near(name, ["pelt", "walt", "walt-3.18", "walt-rfc"]);
            let otherwise = "there are: pelt, walt (Android 4.4's), walt-3.18, walt-rfc (2016)";
            let why = format!("no such signal{}", did_you_mean(&nearest, otherwise));
            return Err(wrong(&why).into());
        }
    };
    for item in params.split(',').filter(|p| !p.is_empty()) {
        let (key, value) = item.split_once('=').ok_or_else(|| wrong("parameters are KEY=VALUE"))?;
        let number: u32 = value.parse().map_err(|_| wrong(&format!("{key} is a whole number")))?;
        match (key, &mut signal) {
            ("half_life_ms", Signal::Pelt) => {
                let half_life = match number {
                    32 => HalfLife::Ms32,
                    16 => HalfLife::Ms16,
                    8 => HalfLife::Ms8,
                    _ => return Err(wrong("half_life_ms is 32, 16 or 8").into()),
                };
                pelt = pelt.with_half_life(half_life);
            }
            ("clock_shift", Signal::Pelt) => pelt = pelt.with_clock_shift(number),
            ("window_ms", Signal::Walt(config)) => config.window_ns = number.saturating_mul(1_000_000),
            _ => {
                let why = "pelt has half_life_ms (32, 16, 8) and clock_shift (0 to 2), walt has window_ms (10 to 1000)";
                return Err(wrong(why).into());
            }
        }
    }
    let valid = match &signal {
        Signal::Pelt => true,
        Signal::Walt(config) => config.is_valid(),
    };
    let pelt = Pelt::new(pelt).map_err(|e| wrong(&e.to_string()))?;
    if valid { Ok((pelt, signal)) } else { Err(wrong("window_ms is 10 to 1000").into()) }
}
