// SPDX-License-Identifier: GPL-2.0-only
//! A tape driven through the idle loop under any governor
