// SPDX-License-Identifier: GPL-2.0-only
//! Host of idle governors written as kernel C
