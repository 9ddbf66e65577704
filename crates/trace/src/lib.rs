// SPDX-License-Identifier: GPL-2.0-only
//! Readers of recorded kernel traces
