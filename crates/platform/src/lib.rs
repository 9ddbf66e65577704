// SPDX-License-Identifier: GPL-2.0-only
//! Machines as data: idle states, tick, capacities, power
