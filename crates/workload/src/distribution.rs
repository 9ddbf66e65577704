// SPDX-License-Identifier: GPL-2.0-only

/// No time of a workload is longer, ns: eleven and a half days. Samples beyond it are cut to it.
pub const MAX_TIME_NS: u64 = 1_000_000_000_000_000;

/// How long something takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same, ns. Draws no random number.
    Constant(u64),
    /// Any whole number of ns from `low` to `high`, equally likely. Draws one number.
    Uniform {
        low: u64,
        /// Ns, not below `low`.
        high: u64,
    },
    /// Exponential: what is between the arrivals of a Poisson process. Draws one number.
    Exponential {
        /// Mean, ns.
        mean: u64,
    },
    /// The logarithm is normal. Draws two numbers.
    Lognormal {
        /// Half of the samples are below, ns.
        median: u64,
        /// Standard deviation of the natural logarithm, 0 to 10.
        sigma: f64,
    },
    /// Measured quantiles with straight lines between them. Draws one number.
    Empirical {
        /// Quantile and ns, both rising, the first quantile 0, the last 1; at least two.
        points: Vec<(f64, u64)>,
    },
}

impl Distribution {
    /// One sample, ns, at most [`MAX_TIME_NS`]. `draw` gives 64 random bits a call. The same bits give the same sample on every machine:
    /// only exact floating-point operations and software `exp`, `log`, `cos` are used.
    pub fn sample_ns(&self, draw: &mut impl FnMut() -> u64) -> u64 {
        let ns = match self {
            Self::Constant(ns) => *ns,
            Self::Uniform { low, high } => {
                let width = u128::from(high.saturating_sub(*low)) + 1;
                // The upper half of a 64x64 product: even to within width/2^64.
                low.saturating_add(u64::try_from((u128::from(draw()) * width) >> 64).unwrap_or(u64::MAX))
            }
            Self::Exponential { mean } => rounded(-libm::log(1.0 - unit(draw())) * float(*mean)),
            Self::Lognormal { median, sigma } => {
                rounded(float(*median) * libm::exp(sigma * normal(unit(draw()), unit(draw()))))
            }
            Self::Empirical { points } => between(points, unit(draw())),
        };
        ns.min(MAX_TIME_NS)
    }

    /// The mean, ns, before samples are cut.
    #[must_use]
    pub fn mean_ns(&self) -> u64 {
        match self {
            Self::Constant(ns) | Self::Exponential { mean: ns } => *ns,
            Self::Uniform { low, high } => low / 2 + high / 2 + (low & high & 1),
            Self::Lognormal { median, sigma } => rounded(float(*median) * libm::exp(sigma * sigma / 2.0)),
            Self::Empirical { points } => {
                let part = |w: &[(f64, u64)]| match w {
                    [(p, a), (q, b)] => (q - p) * (float(*a) + float(*b)) / 2.0,
                    _ => 0.0,
                };
                rounded(points.windows(2).map(part).sum())
            }
        }
    }

    /// Whether every sample is 0.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        match self {
            Self::Constant(ns) | Self::Uniform { high: ns, .. } => *ns == 0,
            Self::Exponential { mean: ns } | Self::Lognormal { median: ns, .. } => *ns == 0,
            Self::Empirical { points } => points.iter().all(|(_, ns)| *ns == 0),
        }
    }
}

/// In [0, 1), from the upper 53 bits.
fn unit(bits: u64) -> f64 {
    float(bits >> 11) / float(1 << 53)
}

/// Standard normal from two numbers in [0, 1) (Box and Muller).
fn normal(u: f64, v: f64) -> f64 {
    libm::sqrt(-2.0 * libm::log(1.0 - u)) * libm::cos(2.0 * std::f64::consts::PI * v)
}

/// The value at a quantile, by straight lines between the points.
fn between(points: &[(f64, u64)], q: f64) -> u64 {
    let part = points.windows(2).find(|w| matches!(w, [_, (end, _)] if q < *end));
    match part {
        Some([(p, a), (end, b)]) if end > p => {
            rounded(float(*a) + (float(*b) - float(*a)) * ((q - p) / (end - p)))
        }
        Some([_, (_, ns)]) => *ns,
        _ => points.last().map_or(0, |(_, ns)| *ns),
    }
}

#[expect(clippy::cast_precision_loss, reason = "times are below 2^53 ns")]
fn float(ns: u64) -> f64 {
    ns as f64
}

/// To the nearest whole ns; what is not a number or below 0 becomes 0, what is too large the largest.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
fn rounded(ns: f64) -> u64 {
    libm::round(ns) as u64
}
