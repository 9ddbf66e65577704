/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IDLEWISE_PARAM_H
#define IDLEWISE_PARAM_H

#include <linux/types.h>

/**
 * struct idlewise_param - one module_param(), found by the host in section
 * idlewise_params
 * @name: name for the user
 * @type: type name as given to module_param()
 * @value: the variable
 * @size: its size in bytes
 * @line: where it is declared; a compiler need not keep the order
 */
struct idlewise_param {
	const char *name;
	const char *type;
	void *value;
	size_t size;
	size_t line;
};

/**
 * struct idlewise_param_desc - one MODULE_PARM_DESC(), in section
 * idlewise_param_descs
 * @name: name of the parameter
 * @text: what it does
 */
struct idlewise_param_desc {
	const char *name;
	const char *text;
};

#endif
