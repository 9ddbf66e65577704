// SPDX-License-Identifier: GPL-2.0-only
//! From a ledger to numbers
