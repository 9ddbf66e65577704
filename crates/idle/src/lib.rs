// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's idle loop around a governor
