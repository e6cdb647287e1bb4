// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_ctx.h"
#include "cmx_exec.h"
#include "cmx_fail.h"

static __thread bool in_kernel;

bool cmx_in_kernel(void)
{
	return in_kernel;
}

void cmx_exec_init(struct cmx_exec *exec, struct cmx_frame *frame, uint32_t index)
{
	exec->frame = frame;
	exec->launch = &frame->launches[index];
	exec->outcome = &frame->outcomes[index];
	exec->kernel = cmx_kernels_get(&frame->ctx->kernels, exec->launch->kernel);
	exec->chain_next = NULL;
	exec->next = 0;
	exec->attached = 0;
	exec->ready = false;
	exec->fail_block = UINT32_MAX;
	exec->fail_code = 0;
	exec->cost = exec->launch->cost;
	exec->records.count = 0;
	exec->recorded = 0;
	if (!exec->kernel)
		exec->fail_code = CMX_CODE_NO_KERNEL;
	else if (exec->kernel->args_size && exec->kernel->args_size != exec->launch->args_size)
		exec->fail_code = CMX_CODE_ARGS_SIZE;
}

bool cmx_exec_has_blocks(const struct cmx_exec *exec)
{
	return exec->ready && !exec->fail_code &&
	       __atomic_load_n(&exec->next, __ATOMIC_RELAXED) < exec->launch->grid;
}

/* What an intrinsic found wrong counts, whatever the kernel made of it. */
static uint32_t block_code(const struct cmx_launch_ctx *lc, int ret)
{
	if (lc->fault)
		return lc->fault;
	return ret < 0 ? 0u - (uint32_t)ret : (uint32_t)ret;
}

/* All blocks run even when one failed: which code counts must not depend on timing. */
void cmx_exec_run(struct cmx_exec *exec, struct cmx_launch_ctx *lc, uint32_t *fail_block,
		  uint32_t *fail_code)
{
	const struct drm_cmx_launch *launch = exec->launch;
	uint64_t block;
	uint32_t code;

	in_kernel = true;
	while ((block = __atomic_fetch_add(&exec->next, 1, __ATOMIC_RELAXED)) < launch->grid) {
		lc->block = (uint32_t)block;
		lc->sequence = 0;
		lc->fault = 0;
		code = block_code(lc, exec->kernel->run(lc, launch->args, lc->block));
		if (code && lc->block < *fail_block) {
			*fail_block = lc->block;
			*fail_code = code;
		}
	}
	in_kernel = false;
}

static int records_grow(struct cmx_records *records, uint32_t need)
{
	uint32_t room = records->room ? records->room : 16;
	struct cmx_keyed_record *grown;

	if (need <= records->room)
		return 0;
	while (room < need)
		room *= 2;
	grown = realloc(records->list, (size_t)room * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	records->list = grown;
	records->room = room;
	return 0;
}

static void exec_fail(struct cmx_exec *exec, uint32_t block, uint32_t code)
{
	if (block > exec->fail_block || (exec->fail_code && block == exec->fail_block))
		return;
	exec->fail_block = block;
	exec->fail_code = code;
}

void cmx_exec_lend(struct cmx_exec *exec, struct cmx_launch_ctx *lc)
{
	if (exec->records.count)
		return;
	lc->records = exec->records;
	exec->records = (struct cmx_records){};
}

void cmx_exec_merge(struct cmx_exec *exec, struct cmx_launch_ctx *lc, uint32_t fail_block,
		    uint32_t fail_code)
{
	struct cmx_records *to = &exec->records;

	if (fail_code)
		exec_fail(exec, fail_block, fail_code);
	exec->recorded += lc->recorded;
	if (exec->recorded > exec->frame->ctx->limits.max_records) {
		to->count = 0;
		exec_fail(exec, exec->launch->grid, CMX_CODE_RECORDS);
	} else if (!to->count && (lc->records.count || !to->list)) {
		/* Most launches record from one thread: take its list as it is. */
		free(to->list);
		*to = lc->records;
		return;
	} else if (!lc->records.count) {
		/* Nothing to add. */
	} else if (records_grow(to, to->count + lc->records.count)) {
		exec_fail(exec, exec->launch->grid, CMX_CODE_NO_MEMORY);
	} else {
		memcpy(&to->list[to->count], lc->records.list,
		       lc->records.count * sizeof(*to->list));
		to->count += lc->records.count;
	}
	free(lc->records.list);
}

static int by_key(const void *a, const void *b)
{
	const struct cmx_keyed_record *x = a, *y = b;

	if (x->record.at_ps != y->record.at_ps)
		return x->record.at_ps < y->record.at_ps ? -1 : 1;
	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

/* Most kernels record in order, and most launches are run by one thread. */
static bool records_are_sorted(const struct cmx_records *records)
{
	for (uint32_t i = 1; i < records->count; i++) {
		if (by_key(&records->list[i - 1], &records->list[i]) > 0)
			return false;
	}
	return true;
}

/* Put the records in order where the outcome can point to. */
static int exec_sort_records(struct cmx_exec *exec)
{
	uint32_t count = exec->records.count;

	if (!count)
		return 0;
	if (count > exec->sent_room) {
		struct cmx_record *grown = realloc(exec->sent, count * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		exec->sent = grown;
		exec->sent_room = count;
	}
	if (!records_are_sorted(&exec->records))
		qsort(exec->records.list, count, sizeof(*exec->records.list), by_key);
	for (uint32_t i = 0; i < count; i++)
		exec->sent[i] = exec->records.list[i].record;
	return 0;
}

/* The post function is like one more block behind the grid. */
static void exec_post(struct cmx_exec *exec)
{
	struct cmx_launch_ctx lc = {
		.exec = exec,
		.block = exec->launch->grid,
		.post = true,
	};
	uint32_t code;

	in_kernel = true;
	code = block_code(&lc, exec->kernel->post(&lc, exec->launch->args));
	in_kernel = false;
	cmx_exec_merge(exec, &lc, lc.block, code);
}

static void exec_set_outcome(struct cmx_exec *exec, uint32_t status, uint32_t code)
{
	struct drm_cmx_outcome *outcome = exec->outcome;
	bool ok = status == CMX_OUTCOME_OK;

	memset(outcome, 0, sizeof(*outcome));
	outcome->status = status;
	outcome->code = code;
	outcome->cost = ok ? exec->cost : exec->launch->cost;
	outcome->records.stride = sizeof(*exec->sent);
	if (ok && exec->records.count) {
		outcome->records.count = exec->records.count;
		outcome->records.pointer = (uintptr_t)exec->sent;
	}
}

void cmx_exec_finish(struct cmx_exec *exec)
{
	if (!exec->fail_code && exec->kernel->post)
		exec_post(exec);
	if (!exec->fail_code && exec->records.count && exec->kernel->flags & CMX_KERNEL_LOCAL)
		exec->fail_code = CMX_CODE_LOCAL;
	if (!exec->fail_code && exec_sort_records(exec))
		exec->fail_code = CMX_CODE_NO_MEMORY;
	if (exec->fail_code)
		exec_set_outcome(exec, CMX_OUTCOME_FAILED, exec->fail_code);
	else
		exec_set_outcome(exec, CMX_OUTCOME_OK, 0);
}

void cmx_exec_skip(struct cmx_exec *exec)
{
	exec_set_outcome(exec, CMX_OUTCOME_SKIPPED, 0);
}

uint32_t cmx_launch_entity(const struct cmx_launch_ctx *lc)
{
	return lc->exec->launch->entity;
}

uint32_t cmx_launch_grid(const struct cmx_launch_ctx *lc)
{
	return lc->exec->launch->grid;
}

uint32_t cmx_launch_args_size(const struct cmx_launch_ctx *lc)
{
	return lc->exec->launch->args_size;
}

uint64_t cmx_launch_user_ctx(const struct cmx_launch_ctx *lc)
{
	return lc->exec->launch->user_ctx;
}

void cmx_launch_cost(const struct cmx_launch_ctx *lc, struct cmx_cost *cost)
{
	*cost = lc->exec->cost;
}

int cmx_launch_set_cost(struct cmx_launch_ctx *lc, const struct cmx_cost *cost)
{
	if (!lc->post)
		return cmx_fail(-EPERM, "cost", 0, 0,
				"only a kernel's post function may set the final cost");
	lc->exec->cost = *cost;
	return 0;
}

/*
 * A block may know of its own records only: which others its thread ran depends on timing.
 * Where a thread's blocks are past the limit together the launch is, so none is kept.
 */
int cmx_dev_record(struct cmx_launch_ctx *lc, const struct cmx_record *record)
{
	struct cmx_records *records = &lc->records;
	uint32_t limit = lc->exec->frame->ctx->limits.max_records;

	if (lc->sequence >= limit) {
		lc->fault = CMX_CODE_RECORDS;
		return cmx_fail(-ENOSPC, "records", (uint64_t)lc->sequence + 1, limit,
				"a launch may record %u messages at most", limit);
	}
	if (lc->recorded >= limit) {
		lc->recorded++;
		lc->sequence++;
		records->count = 0;
		return 0;
	}
	if (records_grow(records, records->count + 1)) {
		lc->fault = CMX_CODE_NO_MEMORY;
		return cmx_fail_call(-ENOMEM, "recording remote traffic");
	}
	lc->recorded++;
	records->list[records->count++] = (struct cmx_keyed_record){
		.record = *record,
		.block = lc->block,
		.sequence = lc->sequence++,
	};
	return 0;
}

int cmx_dev_write(struct cmx_launch_ctx *lc, uint64_t at_ps, uint64_t dst_va, const void *src,
		  uint64_t len, uint32_t messages)
{
	struct cmx_record record = {
		.opcode = UB_OP_WRITE,
		.messages = messages ? messages : 1,
		.at_ps = at_ps,
		.va = dst_va,
		.src_va = cmx_va(src),
		.len = len,
	};

	return cmx_dev_record(lc, &record);
}

int cmx_dev_signal(struct cmx_launch_ctx *lc, uint64_t at_ps, uint64_t va, uint64_t value)
{
	struct cmx_record record = {
		.opcode = CMX_OP_SIGNAL,
		.messages = 1,
		.at_ps = at_ps,
		.va = va,
		.len = sizeof(value),
		.value = value,
	};

	return cmx_dev_record(lc, &record);
}

int cmx_dev_atomic(struct cmx_launch_ctx *lc, uint64_t at_ps, uint32_t opcode, uint64_t va,
		   uint32_t len, uint64_t value)
{
	struct cmx_record record = {
		.opcode = (uint8_t)opcode,
		.messages = 1,
		.at_ps = at_ps,
		.va = va,
		.len = len,
		.value = value,
	};

	if (opcode > UINT8_MAX) {
		lc->fault = CMX_CODE_REFUSED;
		return cmx_fail(-EINVAL, "opcode", opcode, UINT8_MAX, "%#x is no opcode", opcode);
	}
	return cmx_dev_record(lc, &record);
}
