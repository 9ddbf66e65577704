// SPDX-License-Identifier: GPL-2.0-only
//! From numbers to text, Markdown, CSV, JSON
