// SPDX-License-Identifier: GPL-2.0-only
//! Finds, wires, runs, judges: the only room that knows all others
