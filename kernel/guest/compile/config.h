/* SPDX-License-Identifier: GPL-2.0-only */
/* What tcc's configure would write. */
#define TCC_VERSION "lab"
