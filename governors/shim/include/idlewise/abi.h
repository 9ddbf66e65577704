/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IDLEWISE_ABI_H
#define IDLEWISE_ABI_H

#include <linux/cpuidle.h>
#include <linux/init.h>
#include <idlewise/param.h>

#define IDLEWISE_ABI_LAYOUT	28

/**
 * struct idlewise_log - messages, as printk() took them
 * @used: bytes of @text in use; the host sets it to 0, or beyond the end of
 *   @text if it does not want to hear anything
 * @text: one after the other, each from its level to a newline; what finds no
 *   room is left out
 */
struct idlewise_log {
	u32 used;
	char text[16380];
};

/**
 * struct idlewise_abi - what the exported function idlewise_abi() tells
 * @version: IDLEWISE_ABI_VERSION; nothing behind it may be read if it differs
 * @layout: sizes and offsets of what both sides use, in the loader's order
 * @env: the environment
 * @percpu: image of a fresh CPU's variables
 * @percpu_size: its size in bytes
 * @device: address of the device inside that image
 * @params: the parameters
 * @nr_params: how many
 * @descs: their descriptions, in any order
 * @nr_descs: how many
 * @log: messages
 * @image_size: bytes that @save writes
 * @save: copies the writable memory of the object
 * @restore: puts it back and clears the rest, as if the object had just been
 *   loaded
 * @memory_size: bytes that @copy_memory writes
 * @copy_memory: copies the writable memory as it is, with zeros for what the
 *   host writes there: the environment and the log
 * @init: runs the initcalls; 0, or what the first one that failed returned
 */
struct idlewise_abi {
	u32 version;
	u32 layout[IDLEWISE_ABI_LAYOUT];
	struct idlewise_env *env;
	const void *percpu;
	size_t percpu_size;
	const struct cpuidle_device *device;
	const struct idlewise_param *params;
	size_t nr_params;
	const struct idlewise_param_desc *descs;
	size_t nr_descs;
	struct idlewise_log *log;
	size_t (*image_size)(void);
	void (*save)(void *image);
	void (*restore)(const void *image);
	size_t (*memory_size)(void);
	void (*copy_memory)(void *copy);
	int (*init)(void);
};

/* A function, because differences of addresses are no constants. */
__attribute__((visibility("default"))) void idlewise_abi(struct idlewise_abi *abi);

#pragma GCC visibility push(hidden)
extern struct idlewise_log idlewise_log;
#pragma GCC visibility pop

#endif
