// SPDX-License-Identifier: GPL-2.0-only
//! What bounds the power of a package, and what hardware does about it: arithmetic that knows nothing of a run.
//!
//! A [`Limit`] bounds the [`RunningAverage`] of package power. A [`Control`] samples both from time to time and lowers or
//! raises the highest clock of each domain, the ceiling, by a step. Formulas and their sources are in
//! docs/concepts/power-limits.md.
//!
//! Energy comes in as whole femtojoules and is never changed here. Only averages are floating-point numbers, since an
//! exponential is no fraction; their mathematics is that of the crate `libm`, which has the same bits on every machine, so that a
//! run stays the same to the byte.

mod average;
mod control;
mod heat;
mod limit;
mod margin;
mod record;
mod request;

pub use average::RunningAverage;
pub use control::{ClockDomain, Control, ControlSetup, PowerSample, Turbo};
pub use heat::{Heat, Leakage};
pub use limit::{Limit, Limits};
pub use margin::{Budget, EXPONENT};
pub use record::{HoldRecord, LimitRecord, PowerRecord, TemperatureRecord};
pub use request::{LimitRequest, LimitRequestError, LimitSet};
