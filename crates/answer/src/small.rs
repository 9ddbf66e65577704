// SPDX-License-Identifier: GPL-2.0-only

/// A change smaller than this, %, is no difference.
pub const SMALL_PCT: f64 = 1.0;

/// Nor is a smaller change of a latency, ns: about a cache miss, and below what a trace's time stamps can tell.
pub const SMALL_LATENCY_NS: f64 = 100.0;
