// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_ctx.h"
#include "cmx_fail.h"

struct kernel_object {
	struct cmx_list node;
	void *handle;
};

void cmx_kernels_init(struct cmx_kernels *kernels)
{
	pthread_mutex_init(&kernels->lock, NULL);
	cmx_list_init(&kernels->objects);
}

void cmx_kernels_fini(struct cmx_kernels *kernels)
{
	while (!cmx_list_empty(&kernels->objects)) {
		struct kernel_object *object =
			cmx_container(kernels->objects.next, struct kernel_object, node);

		cmx_list_del(&object->node);
		dlclose(object->handle);
		free(object);
	}
	for (uint32_t i = 0; i < kernels->count; i++)
		free(kernels->table[i]);
	pthread_mutex_destroy(&kernels->lock);
}

const struct cmx_kernel *cmx_kernels_get(struct cmx_kernels *kernels, uint64_t number)
{
	if (number - 1 >= __atomic_load_n(&kernels->count, __ATOMIC_ACQUIRE))
		return NULL;
	return kernels->table[number - 1];
}

/* Caller holds the lock. */
static uint64_t kernel_number(const struct cmx_kernels *kernels, const char *name)
{
	for (uint32_t i = 0; i < kernels->filled; i++) {
		if (!strcmp(kernels->table[i]->name, name))
			return i + 1;
	}
	return 0;
}

static int kernel_check(const struct cmx_kernel_desc *desc)
{
	size_t len = desc->name ? strnlen(desc->name, CMX_KERNEL_NAME) : 0;

	if (len < 1 || len >= CMX_KERNEL_NAME)
		return cmx_fail(-EINVAL, "name", len, CMX_KERNEL_NAME - 1,
				"a kernel's name has 1 to %d characters, not %zu",
				CMX_KERNEL_NAME - 1, len);
	if (!desc->run)
		return cmx_fail(-EINVAL, "run", 0, 0, "kernel %s has no function", desc->name);
	if (desc->flags & ~CMX_KERNEL_LOCAL)
		return cmx_fail(-EINVAL, "flags", desc->flags, CMX_KERNEL_LOCAL,
				"kernel %s: unknown flags %#x", desc->name, desc->flags);
	if (desc->args_size > CMX_LAUNCH_MAX_ARGS)
		return cmx_fail(-EINVAL, "args_size", desc->args_size, CMX_LAUNCH_MAX_ARGS,
				"kernel %s: args_size %u is over %d", desc->name,
				desc->args_size, CMX_LAUNCH_MAX_ARGS);
	if (desc->reserved[0] || desc->reserved[1])
		return cmx_fail(-EINVAL, "reserved", 1, 0,
				"kernel %s: a reserved field is not zero", desc->name);
	return 0;
}

/* Caller holds the lock, and publishes what was added. */
static int kernel_add(struct cmx_kernels *kernels, const struct cmx_kernel_desc *desc)
{
	struct cmx_kernel *kernel;
	int ret = kernel_check(desc);

	if (ret)
		return ret;
	if (kernel_number(kernels, desc->name))
		return cmx_fail(-EEXIST, "name", kernel_number(kernels, desc->name), 0,
				"there is a kernel %s already", desc->name);
	if (kernels->filled == CMX_KERNEL_MAX)
		return cmx_fail(-ENOSPC, "kernels", kernels->filled, CMX_KERNEL_MAX,
				"kernel %s is one more than %d", desc->name, CMX_KERNEL_MAX);
	kernel = calloc(1, sizeof(*kernel));
	if (!kernel)
		return cmx_fail_call(-ENOMEM, "cmx_kernel_register");
	strcpy(kernel->name, desc->name);
	kernel->run = desc->run;
	kernel->post = desc->post;
	kernel->cost = desc->cost;
	kernel->flags = desc->flags;
	kernel->args_size = desc->args_size;
	kernels->table[kernels->filled++] = kernel;
	return 0;
}

/* Lookups without the lock may see the new kernels from here on. */
static void kernel_publish(struct cmx_kernels *kernels)
{
	__atomic_store_n(&kernels->count, kernels->filled, __ATOMIC_RELEASE);
}

int cmx_kernel_register_desc(struct cmx_ctx *ctx, const struct cmx_kernel_desc *desc,
			     uint64_t *kernel)
{
	struct cmx_kernels *kernels = &ctx->kernels;
	int ret = cmx_ctx_check(ctx);

	if (ret)
		return ret;
	pthread_mutex_lock(&kernels->lock);
	ret = kernel_add(kernels, desc);
	if (!ret) {
		kernel_publish(kernels);
		*kernel = kernels->count;
	}
	pthread_mutex_unlock(&kernels->lock);
	return ret;
}

int cmx_kernel_register(struct cmx_ctx *ctx, const char *name, cmx_kernel_fn fn,
			uint64_t *kernel)
{
	struct cmx_kernel_desc desc = { .name = name, .run = fn };

	return cmx_kernel_register_desc(ctx, &desc, kernel);
}

/* Forget the kernels that were not published. */
static void kernel_drop(struct cmx_kernels *kernels)
{
	while (kernels->filled > kernels->count)
		free(kernels->table[--kernels->filled]);
}

static int kernel_add_table(struct cmx_kernels *kernels, const struct cmx_kernel_table *table)
{
	int ret = 0;

	pthread_mutex_lock(&kernels->lock);
	for (uint32_t i = 0; !ret && i < table->count; i++)
		ret = kernel_add(kernels, &table->kernels[i]);
	if (ret)
		kernel_drop(kernels);
	else
		kernel_publish(kernels);
	pthread_mutex_unlock(&kernels->lock);
	return ret;
}

static int kernel_table_check(const char *path, const struct cmx_kernel_table *table)
{
	if (!table)
		return cmx_fail(-ENOENT, "cmx_kernel_table", 0, 0,
				"%s has no symbol cmx_kernel_table", path);
	if (table->version != CMX_KERNEL_TABLE_VERSION)
		return cmx_fail(-EPROTO, "version", table->version, CMX_KERNEL_TABLE_VERSION,
				"%s: kernel table of version %u, not %d", path, table->version,
				CMX_KERNEL_TABLE_VERSION);
	if (table->count > CMX_KERNEL_MAX)
		return cmx_fail(-ENOSPC, "count", table->count, CMX_KERNEL_MAX,
				"%s: %u kernels are more than %d", path, table->count,
				CMX_KERNEL_MAX);
	return 0;
}

int cmx_kernel_load(struct cmx_ctx *ctx, const char *path)
{
	const struct cmx_kernel_table *table;
	struct kernel_object *object;
	int ret = cmx_ctx_check(ctx);

	if (ret)
		return ret;
	object = calloc(1, sizeof(*object));
	if (!object)
		return cmx_fail_call(-ENOMEM, "cmx_kernel_load");
	object->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object->handle) {
		ret = cmx_fail(-ENOEXEC, "path", 0, 0, "%s", dlerror());
		goto err_free_object;
	}
	table = dlsym(object->handle, "cmx_kernel_table");
	ret = kernel_table_check(path, table);
	if (ret)
		goto err_unload;
	ret = kernel_add_table(&ctx->kernels, table);
	if (ret)
		goto err_unload;
	pthread_mutex_lock(&ctx->kernels.lock);
	cmx_list_add(&ctx->kernels.objects, &object->node);
	pthread_mutex_unlock(&ctx->kernels.lock);
	return (int)table->count;

err_unload:
	dlclose(object->handle);
err_free_object:
	free(object);
	return ret;
}

int cmx_kernel_find(struct cmx_ctx *ctx, const char *name, uint64_t *kernel)
{
	struct cmx_kernels *kernels = &ctx->kernels;
	uint64_t number;
	int ret = cmx_ctx_check(ctx);

	if (ret)
		return ret;
	pthread_mutex_lock(&kernels->lock);
	number = kernel_number(kernels, name);
	pthread_mutex_unlock(&kernels->lock);
	if (!number)
		return cmx_fail(-ENOENT, "name", 0, 0, "there is no kernel %s", name);
	*kernel = number;
	return 0;
}

int cmx_kernel_cost(struct cmx_ctx *ctx, uint64_t kernel, const void *args,
		    uint32_t args_size, uint32_t grid, struct cmx_cost *cost)
{
	const struct cmx_kernel *k = cmx_kernels_get(&ctx->kernels, kernel);
	int ret;

	memset(cost, 0, sizeof(*cost));
	if (!k)
		return cmx_fail(-ENOENT, "kernel", kernel, ctx->kernels.count,
				"there is no kernel %llu", (unsigned long long)kernel);
	if (k->args_size && k->args_size != args_size)
		return cmx_fail(-EINVAL, "args_size", args_size, k->args_size,
				"kernel %s takes %u argument bytes, not %u", k->name,
				k->args_size, args_size);
	ret = k->cost ? k->cost(args, args_size, grid, cost) : 0;
	if (ret)
		return cmx_fail(ret, "cost", grid, 0, "kernel %s: its cost function says %d",
				k->name, ret);
	return 0;
}
