// SPDX-License-Identifier: GPL-2.0-only
//! From a recorded trace to what a governor would have seen
