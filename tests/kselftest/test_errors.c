// SPDX-License-Identifier: GPL-2.0-only
/*
 * Malformed entries: the right status, the flush behind it, and the way back.
 *
 * Statuses: LOC_OPERATION_ERR for reserved fields, flags, slot counts and alignment,
 * LOC_LEN_ERR for lengths, LOC_ACCESS_ERR and REM_ACCESS_ABORT for addresses on the two
 * sides, UNSUPPORTED_OPCODE for operations of another class.
 */
#include <errno.h>

#include "kselftest_harness.h"

#include "cmx_run.h"

#define SRC	ABI_VA
#define DST	(ABI_VA + ABI_WORLD_PAGES / 2 * ABI_PAGE)
#define END	(ABI_VA + ABI_WORLD_PAGES * ABI_PAGE)
#define RO_VA	(ABI_VA * 2)	/* commands may read */
#define WO_VA	(ABI_VA * 3)	/* commands may write */
#define ND_VA	(ABI_VA * 4)	/* no bytes */
#define NO_VA	(ABI_VA * 5)	/* nothing */

/** enum base - well-formed entries to start from. */
enum base {
	COPY,
	COPY_2D,
	COPY_SG,
	FILL,
	WAIT,
	SIGNAL,
	TIMESTAMP,
	BARRIER,
	DELAY,
	NOP,
	WRITE,
	READ,
	INLINE,
	GATHER,
	NOTIFY,
	FADD,
	CAS,
	SEND,
	LAUNCH,
	NUM_BASES,
};

static const char * const base_names[NUM_BASES] = {
	"COPY", "COPY_2D", "COPY_SG", "FILL", "WAIT", "SIGNAL", "TIMESTAMP", "BARRIER", "DELAY",
	"NOP", "WRITE", "READ", "INLINE", "GATHER", "NOTIFY", "FADD", "CAS", "SEND", "LAUNCH",
};

FIXTURE(errors) {
	struct abi_world world;
	union abi_entry entry;
	__u64 tag;
	char why[160];
};

static int map_special(struct abi_world *world)
{
	int fd = world->fd, ret;
	__u32 handle;

	ret = abi_map_va(fd, world->mem.handle, RO_VA, ABI_PAGE, CMX_MAP_READ);
	if (!ret)
		ret = abi_map_va(fd, world->mem.handle, WO_VA, ABI_PAGE, CMX_MAP_WRITE);
	if (!ret)
		ret = abi_bo(fd, 0, ABI_PAGE, CMX_BO_NO_DATA, &handle);
	if (!ret)
		ret = abi_map_va(fd, handle, ND_VA, ABI_PAGE, CMX_MAP_FLAGS);
	return ret;
}

FIXTURE_SETUP(errors)
{
	ASSERT_EQ(0, abi_world_open(&self->world));
	ASSERT_EQ(0, map_special(&self->world));
}

FIXTURE_TEARDOWN(errors)
{
	abi_world_close(&self->world);
}

static void make_rma(union abi_entry *entry, enum base base)
{
	switch (base) {
	case WRITE:
	case READ:
		abi_entry_rma(entry, base == READ ? UB_OP_READ : UB_OP_WRITE, SRC, DST, 100);
		break;
	case INLINE:
		abi_entry_rma(entry, UB_OP_WRITE, 0, DST, 10);
		entry->header.slots = 3;
		entry->header.flags |= CMX_ENTRY_INLINE;
		break;
	case GATHER:
		abi_entry_rma(entry, UB_OP_WRITE, 0, DST, 30);
		entry->header.slots = 3;
		entry->rma.num_sge = 2;
		entry->sgl[0].sge[0] = (struct cmx_sge){ SRC, 10, 0 };
		entry->sgl[0].sge[1] = (struct cmx_sge){ SRC + 50, 20, 0 };
		break;
	case NOTIFY:
		abi_entry_rma(entry, UB_OP_WRITE_NOTIFY, SRC, DST, 100);
		entry->header.slots = 2;
		entry->ext.notify_va = DST + 512;
		break;
	case FADD:
	case CAS:
		abi_entry_rma(entry, base == CAS ? UB_OP_CAS : UB_OP_FADD, SRC, DST, 8);
		entry->header.slots = 2;
		break;
	default:
		abi_entry_rma(entry, UB_OP_SEND, SRC, 0, 100);
		break;
	}
}

static void make(union abi_entry *entry, enum base base)
{
	switch (base) {
	case COPY:
		return abi_entry_copy(entry, DST, SRC, 100);
	case COPY_2D:
		abi_entry_copy(entry, DST, SRC, 100);
		entry->header.opcode = CMX_OP_COPY_2D;
		entry->copy.dst_pitch = 200;
		entry->copy.src_pitch = 300;
		entry->copy.rows = 3;
		break;
	case COPY_SG:
		abi_entry_copy(entry, 0, 0, 0);
		entry->header.opcode = CMX_OP_COPY_SG;
		entry->copy_sg.list_va = SRC + ABI_PAGE;
		entry->copy_sg.count = 1;
		break;
	case FILL:
		return abi_entry_fill(entry, DST, 96, 7, 8);
	case WAIT:
		return abi_entry_wait(entry, DST + 1024, CMX_COND_EQ, 0);
	case SIGNAL:
		return abi_entry_signal(entry, DST, CMX_SIGNAL_SET, 1);
	case TIMESTAMP:
		return abi_entry_sync(entry, CMX_OP_TIMESTAMP, DST);
	case BARRIER:
		return abi_entry_sync(entry, CMX_OP_BARRIER, 0);
	case DELAY:
		abi_entry_sync(entry, CMX_OP_DELAY, 0);
		entry->delay.ps = 1000;
		break;
	case NOP:
		return abi_entry_sync(entry, UB_OP_NOP, 0);
	case LAUNCH:
		abi_entry_launch(entry, 1, 1000);
		entry->launch.launch_flags = CMX_LAUNCH_TIME_ONLY;
		break;
	default:
		make_rma(entry, base);
		break;
	}
}

static struct abi_ring *queue_of(struct abi_world *world, enum base base)
{
	if (base == LAUNCH)
		return &world->stream;
	return base < NOP ? &world->sdma : &world->ub;
}

/* The list a good COPY_SG works on. */
static void make_list(struct abi_world *world)
{
	struct cmx_sg *list = (struct cmx_sg *)(world->mem.bytes + ABI_PAGE);

	*list = (struct cmx_sg){ .dst_va = DST, .src_va = SRC, .len = 8 };
}

/* Moves a failed queue back to READY: false with @why if it is not as it should be. */
static bool recover(FIXTURE_DATA(errors) *self, struct abi_ring *queue, __u32 status)
{
	const struct cmx_ring_consumer *consumer = queue->consumer;
	__u32 generation = consumer->generation;
	struct drm_cmx_queue_query query;
	struct cmx_event event;

	if (abi_queue_query(self->world.fd, queue->handle, &query) ||
	    query.state != UB_QUEUE_ERROR || query.status != status ||
	    consumer->state != UB_QUEUE_ERROR || consumer->status != status) {
		snprintf(self->why, sizeof(self->why), "state %u status %u, in the ring %u %u",
			 query.state, query.status, consumer->state, consumer->status);
		return false;
	}
	if (abi_event_find(self->world.fd, CMX_EVENT_QUEUE_ERROR, &event) != 1 ||
	    event.object != queue->handle || event.code != status) {
		snprintf(self->why, sizeof(self->why), "event object %u code %u", event.object,
			 event.code);
		return false;
	}
	if (abi_queue_state(self->world.fd, queue->handle, UB_QUEUE_READY) ||
	    consumer->state != UB_QUEUE_READY || consumer->generation != generation + 1) {
		snprintf(self->why, sizeof(self->why), "does not go back to READY");
		return false;
	}
	return true;
}

/*
 * Submits self->entry and, if @followers, entries behind it: the first completes with a
 * status of the mask, the others are flushed, then there is the marker.
 */
static bool fails(FIXTURE_DATA(errors) *self, struct abi_ring *queue, __u32 mask,
		  unsigned int followers)
{
	struct abi_cq *cq = &self->world.cq;
	union abi_entry next;
	struct cmx_cqe cqe;
	__u32 status = ~0U;
	unsigned int i;
	int ret;

	self->entry.header.user_ctx = ++self->tag;
	abi_post(queue, &self->entry);
	abi_entry_sync(&next, CMX_OP_BARRIER, 0);
	for (i = 1; i <= followers; i++) {
		next.header.user_ctx = self->tag + i;
		next.header.flags = 0;
		abi_post(queue, &next);
	}
	abi_kick(self->world.fd, &self->world.clock, queue);
	ret = abi_run_cq(self->world.fd, cq, followers + 2, NULL);
	for (i = 0; abi_cqe_take(cq, &cqe); i++) {
		__u32 want = i ? 1U << UB_CR_WR_FLUSH_ERR : mask;
		bool marker = i == followers + 1;

		if (!i)
			status = cqe.status;
		if (marker)
			want = 1U << UB_CR_WR_FLUSH_ERR_DONE;
		if (cqe.status < 32 && want >> cqe.status & 1 &&
		    !!(cqe.flags & CMX_CQE_MARKER) == marker && cqe.local_id == queue->handle &&
		    (marker || cqe.user_ctx == self->tag + i))
			continue;
		snprintf(self->why, sizeof(self->why), "completion %u: status %u flags %u ctx %llu",
			 i, cqe.status, cqe.flags, (unsigned long long)cqe.user_ctx);
		if (cqe.status && !marker)
			recover(self, queue, status);
		return false;
	}
	self->tag += followers;
	if (ret != CMX_RUN_DONE || i != followers + 2) {
		snprintf(self->why, sizeof(self->why), "RUN %d, %u completions", ret, i);
		return false;
	}
	return recover(self, queue, status);
}

/* The queue carries out a good entry. */
static bool works(FIXTURE_DATA(errors) *self, struct abi_ring *queue)
{
	struct cmx_cqe cqe;
	int ret;

	abi_entry_sync(&self->entry, CMX_OP_BARRIER, 0);
	self->entry.header.user_ctx = ++self->tag;
	ret = abi_carry_out(&self->world, queue, &self->entry, &cqe);
	if (!ret && cqe.status == UB_CR_SUCCESS && cqe.user_ctx == self->tag)
		return true;
	snprintf(self->why, sizeof(self->why), "good entry: %d, status %u", ret, cqe.status);
	return false;
}

#define LOC_OP		(1U << UB_CR_LOC_OPERATION_ERR)
#define LOC_LEN		(1U << UB_CR_LOC_LEN_ERR)
#define LOC_ACC		(1U << UB_CR_LOC_ACCESS_ERR)
#define REM_ACC		(1U << UB_CR_REM_ACCESS_ABORT)
#define NO_OPCODE	(1U << UB_CR_UNSUPPORTED_OPCODE)
/* Flags and atomics on memory without bytes are refused by the side that has it. */
#define NO_BYTES	(LOC_ACC | LOC_OP | 1U << UB_CR_REM_UNSUPPORTED_REQ)

/** struct bad - one field of a good entry, made bad. */
struct bad {
	enum base base;
	const char *name;
	__u16 offset;
	__u16 size;
	__u64 value;
	__u32 mask;
};

#define BAD(base_, member, value_, mask_) {				\
	.base = (base_),						\
	.name = #member,						\
	.offset = offsetof(union abi_entry, member),			\
	.size = sizeof(((union abi_entry *)0)->member),			\
	.value = (value_),						\
	.mask = (mask_),						\
}

static const struct bad bads[] = {
	BAD(COPY, copy.pad, 1, LOC_OP),
	BAD(COPY, copy.rows, 1, LOC_OP),
	BAD(COPY, copy.dst_pitch, 100, LOC_OP),
	BAD(COPY, copy.src_pitch, 100, LOC_OP),
	BAD(COPY, copy.len, 0, LOC_LEN),
	BAD(COPY, copy.len, ~0ULL, LOC_LEN),
	BAD(COPY, copy.len, 1ULL << 62, LOC_LEN),
	BAD(COPY, copy.src_va, NO_VA, LOC_ACC),
	BAD(COPY, copy.dst_va, NO_VA, LOC_ACC),
	BAD(COPY, copy.src_va, END - 99, LOC_ACC),
	BAD(COPY, copy.dst_va, END - 99, LOC_ACC),
	BAD(COPY, copy.src_va, SRC - 1, LOC_ACC),
	BAD(COPY, copy.src_va, -50, LOC_ACC),
	BAD(COPY, copy.dst_va, -50, LOC_ACC),
	BAD(COPY, copy.src_va, 0, LOC_ACC),
	BAD(COPY, copy.src_va, 1ULL << 63, LOC_ACC),
	BAD(COPY, copy.dst_va, RO_VA, LOC_ACC),
	BAD(COPY, copy.src_va, WO_VA, LOC_ACC),
	BAD(COPY_2D, copy.pad, 1, LOC_OP),
	BAD(COPY_2D, copy.rows, 0, LOC_OP | LOC_LEN),
	BAD(COPY_2D, copy.rows, ~0U, LOC_LEN | LOC_ACC),
	BAD(COPY_2D, copy.dst_pitch, 99, LOC_OP | LOC_LEN),
	BAD(COPY_2D, copy.src_pitch, 0, LOC_OP | LOC_LEN),
	BAD(COPY_2D, copy.src_pitch, 1ULL << 62, LOC_OP | LOC_LEN | LOC_ACC),
	BAD(COPY_2D, copy.dst_pitch, ~0ULL, LOC_OP | LOC_LEN | LOC_ACC),
	BAD(COPY_2D, copy.len, 0, LOC_LEN),
	BAD(COPY_2D, copy.src_pitch, 80000, LOC_ACC),
	BAD(COPY_2D, copy.dst_pitch, 80000, LOC_ACC),
	BAD(COPY_SG, copy_sg.pad, 1, LOC_OP),
	BAD(COPY_SG, copy_sg.reserved[0], 1, LOC_OP),
	BAD(COPY_SG, copy_sg.reserved[3], 1ULL << 63, LOC_OP),
	BAD(COPY_SG, copy_sg.count, 0, LOC_LEN),
	BAD(COPY_SG, copy_sg.count, ~0U, LOC_LEN),
	BAD(COPY_SG, copy_sg.list_va, SRC + ABI_PAGE + 4, LOC_OP),
	BAD(COPY_SG, copy_sg.list_va, NO_VA, LOC_ACC),
	BAD(COPY_SG, copy_sg.list_va, END - 8, LOC_ACC),
	BAD(COPY_SG, copy_sg.list_va, WO_VA, LOC_ACC),
	BAD(FILL, fill.pad, 1, LOC_OP),
	BAD(FILL, fill.reserved[0], 1, LOC_OP),
	BAD(FILL, fill.reserved[1], 1ULL << 63, LOC_OP),
	BAD(FILL, fill.pattern_size, 0, LOC_OP),
	BAD(FILL, fill.pattern_size, 3, LOC_OP),
	BAD(FILL, fill.pattern_size, 16, LOC_OP),
	BAD(FILL, fill.pattern_size, ~0U, LOC_OP),
	BAD(FILL, fill.dst_va, DST + 4, LOC_OP),
	BAD(FILL, fill.len, 0, LOC_LEN),
	BAD(FILL, fill.len, 12, LOC_LEN | LOC_OP),
	BAD(FILL, fill.len, 1ULL << 62, LOC_LEN),
	BAD(FILL, fill.dst_va, NO_VA, LOC_ACC),
	BAD(FILL, fill.dst_va, END - 8, LOC_ACC),
	BAD(FILL, fill.dst_va, RO_VA, LOC_ACC),
	BAD(WAIT, wait.pad, 1, LOC_OP),
	BAD(WAIT, wait.reserved[0], 1, LOC_OP),
	BAD(WAIT, wait.reserved[2], 1ULL << 63, LOC_OP),
	BAD(WAIT, wait.cond, CMX_COND_GT + 1, LOC_OP),
	BAD(WAIT, wait.cond, ~0U, LOC_OP),
	BAD(WAIT, wait.va, DST + 4, LOC_OP),
	BAD(WAIT, wait.va, NO_VA, LOC_ACC),
	BAD(WAIT, wait.va, -8, LOC_ACC),
	BAD(WAIT, wait.va, ND_VA, NO_BYTES),
	BAD(SIGNAL, signal.pad, 1, LOC_OP),
	BAD(SIGNAL, signal.reserved[0], 1, LOC_OP),
	BAD(SIGNAL, signal.reserved[2], 1ULL << 63, LOC_OP),
	BAD(SIGNAL, signal.op, CMX_SIGNAL_ADD + 1, LOC_OP),
	BAD(SIGNAL, signal.op, ~0U, LOC_OP),
	BAD(SIGNAL, signal.va, DST + 2, LOC_OP),
	BAD(SIGNAL, signal.va, NO_VA, LOC_ACC),
	BAD(SIGNAL, signal.va, RO_VA, LOC_ACC),
	BAD(SIGNAL, signal.va, ND_VA, NO_BYTES),
	BAD(TIMESTAMP, sync.reserved[0], 1, LOC_OP),
	BAD(TIMESTAMP, sync.reserved[4], 1ULL << 63, LOC_OP),
	BAD(TIMESTAMP, sync.va, DST + 4, LOC_OP),
	BAD(TIMESTAMP, sync.va, NO_VA, LOC_ACC),
	BAD(TIMESTAMP, sync.va, RO_VA, LOC_ACC),
	BAD(BARRIER, sync.va, DST, LOC_OP),
	BAD(BARRIER, sync.reserved[0], 1, LOC_OP),
	BAD(DELAY, delay.ps, (1ULL << 63) + 1, LOC_LEN),
	BAD(DELAY, delay.ps, ~0ULL, LOC_LEN),
	BAD(DELAY, delay.reserved[0], 1, LOC_OP),
	BAD(DELAY, delay.reserved[4], 1ULL << 63, LOC_OP),
	BAD(NOP, sync.va, DST, LOC_OP),
	BAD(NOP, sync.reserved[4], 1, LOC_OP),
	BAD(WRITE, rma.pad[0], 1, LOC_OP),
	BAD(WRITE, rma.pad[5], 0x80, LOC_OP),
	BAD(WRITE, rma.place_order, 3, LOC_OP),
	BAD(WRITE, rma.place_order, 255, LOC_OP),
	BAD(WRITE, rma.value, 1, LOC_OP),
	BAD(WRITE, rma.target, 1, LOC_OP),
	BAD(WRITE, rma.len, 0, LOC_LEN),
	BAD(WRITE, rma.len, 1ULL << 62, LOC_LEN),
	BAD(WRITE, rma.num_sge, 1, LOC_OP),
	BAD(WRITE, rma.num_sge, 255, LOC_OP),
	BAD(WRITE, rma.tseg, 1, LOC_ACC | REM_ACC),
	BAD(WRITE, rma.local_va, NO_VA, LOC_ACC),
	BAD(WRITE, rma.local_va, WO_VA, LOC_ACC),
	BAD(WRITE, rma.local_va, END - 99, LOC_ACC),
	BAD(WRITE, rma.remote_va, NO_VA, REM_ACC),
	BAD(WRITE, rma.remote_va, RO_VA, REM_ACC),
	BAD(WRITE, rma.remote_va, END - 99, REM_ACC),
	BAD(WRITE, rma.remote_va, -99, REM_ACC),
	BAD(READ, rma.local_va, NO_VA, LOC_ACC),
	BAD(READ, rma.local_va, RO_VA, LOC_ACC),
	BAD(READ, rma.remote_va, NO_VA, REM_ACC),
	BAD(READ, rma.remote_va, WO_VA, REM_ACC),
	BAD(READ, rma.value, 1, LOC_OP),
	BAD(INLINE, rma.local_va, SRC, LOC_OP),
	BAD(INLINE, rma.num_sge, 1, LOC_OP),
	BAD(INLINE, rma.len, 65, LOC_LEN),
	BAD(INLINE, ext.pad, 1, LOC_OP),
	BAD(INLINE, ext.remote_eid[3], 1, LOC_ACC | REM_ACC),
	BAD(INLINE, ext.compare, 1, LOC_OP),
	BAD(GATHER, rma.local_va, SRC, LOC_OP),
	BAD(GATHER, rma.len, 29, LOC_LEN),
	BAD(GATHER, rma.num_sge, 5, LOC_OP),
	BAD(GATHER, rma.num_sge, 1, LOC_OP | LOC_LEN),
	BAD(GATHER, sgl[0].sge[3].va, 1, LOC_OP),
	BAD(GATHER, sgl[0].sge[1].seg, 1, LOC_ACC),
	BAD(GATHER, sgl[0].sge[1].va, NO_VA, LOC_ACC),
	BAD(GATHER, sgl[0].sge[0].len, ~0U, LOC_LEN),
	BAD(NOTIFY, ext.notify_va, NO_VA, REM_ACC),
	BAD(NOTIFY, ext.notify_va, RO_VA, REM_ACC),
	BAD(NOTIFY, ext.notify_va, DST + 4, LOC_OP),
	BAD(NOTIFY, header.slots, 1, LOC_OP),
	BAD(FADD, rma.len, 0, LOC_LEN),
	BAD(FADD, rma.len, 2, LOC_LEN),
	BAD(FADD, rma.len, 16, LOC_LEN),
	BAD(FADD, rma.remote_va, DST + 4, LOC_OP),
	BAD(FADD, rma.remote_va, NO_VA, REM_ACC),
	BAD(FADD, rma.remote_va, RO_VA, REM_ACC),
	BAD(FADD, rma.remote_va, ND_VA, NO_BYTES),
	BAD(FADD, rma.local_va, SRC + 4, LOC_OP),
	BAD(FADD, rma.local_va, NO_VA, LOC_ACC),
	BAD(FADD, rma.num_sge, 1, LOC_OP),
	BAD(FADD, rma.target, 1, LOC_OP),
	BAD(FADD, rma.pad[2], 1, LOC_OP),
	BAD(FADD, ext.compare, 1, LOC_OP),
	BAD(FADD, ext.notify_va, DST, LOC_OP),
	BAD(FADD, ext.pad, 1, LOC_OP),
	BAD(CAS, header.slots, 1, LOC_OP),
	BAD(SEND, rma.remote_va, DST, LOC_OP),
	BAD(SEND, rma.value, 1, LOC_OP),
	BAD(SEND, rma.target, 77777, LOC_OP | LOC_ACC | 1U << UB_CR_REM_OPERATION_ERR),
	BAD(LAUNCH, launch.pad, 1, LOC_OP),
	BAD(LAUNCH, launch.grid, 0, LOC_OP),
	BAD(LAUNCH, launch.args_size, 33, LOC_LEN | LOC_OP),
	BAD(LAUNCH, launch.args_size, 0xffff, LOC_LEN | LOC_OP),
	BAD(LAUNCH, launch.launch_flags, 3, LOC_OP),
	BAD(LAUNCH, launch.launch_flags, 0x8001, LOC_OP),
	BAD(LAUNCH, launch.cost.op_class, CMX_OPS_CLASSES, LOC_OP),
	BAD(LAUNCH, launch.cost.efficiency, CMX_EFF_CLASSES, LOC_OP),
	BAD(LAUNCH, launch.record_count, 1, LOC_OP | LOC_ACC),
	BAD(LAUNCH, launch.record_count, ~0U, LOC_LEN | LOC_OP),
	BAD(LAUNCH, launch.record_va, DST + 4, LOC_OP),
};

TEST_F(errors, fields)
{
	unsigned int i;

	make_list(&self->world);
	for (i = 0; i < ABI_ARRAY_SIZE(bads); i++) {
		const struct bad *bad = &bads[i];

		make(&self->entry, bad->base);
		memcpy(self->entry.bytes + bad->offset, &bad->value, bad->size);
		EXPECT_TRUE(fails(self, queue_of(&self->world, bad->base), bad->mask, i % 3))
			TH_LOG("%s %s = %#llx: %s", base_names[bad->base], bad->name,
			       (unsigned long long)bad->value, self->why);
	}
	EXPECT_TRUE(works(self, &self->world.sdma) && works(self, &self->world.ub) &&
		    works(self, &self->world.stream))
		TH_LOG("%s", self->why);
}

/* The entries the table starts from are good ones. */
TEST_F(errors, bases_are_good)
{
	struct cmx_cqe cqe = { 0 };
	unsigned int base;

	make_list(&self->world);
	for (base = 0; base < NUM_BASES; base++) {
		if (base == SEND)
			continue;
		make(&self->entry, base);
		EXPECT_EQ(0, abi_carry_out(&self->world, queue_of(&self->world, base),
					   &self->entry, &cqe));
		EXPECT_EQ(UB_CR_SUCCESS, cqe.status)
			TH_LOG("%s", base_names[base]);
		if (cqe.status && abi_run_cq(self->world.fd, &self->world.cq, 1, NULL) >= 0) {
			abi_cqe_take(&self->world.cq, &cqe);
			abi_queue_state(self->world.fd, queue_of(&self->world, base)->handle,
					UB_QUEUE_READY);
		}
	}
}

TEST_F(errors, headers)
{
	unsigned int base, bit;

	make_list(&self->world);
	for (base = 0; base < NUM_BASES; base++) {
		struct abi_ring *queue = queue_of(&self->world, base);

		for (bit = 0; bit < 32; bit += base % 5 + 1) {
			make(&self->entry, base);
			self->entry.header.pad = 1U << bit;
			EXPECT_TRUE(fails(self, queue, LOC_OP, 0))
				TH_LOG("%s pad bit %u: %s", base_names[base], bit, self->why);
		}
		for (bit = 6; bit < 16; bit++) {
			make(&self->entry, base);
			self->entry.header.flags |= 1U << bit;
			EXPECT_TRUE(fails(self, queue, LOC_OP, 1))
				TH_LOG("%s flag bit %u: %s", base_names[base], bit, self->why);
		}
	}
	/* Flags that are known, but not for these. */
	make(&self->entry, LAUNCH);
	self->entry.header.flags |= CMX_ENTRY_OVERLAP;
	EXPECT_TRUE(fails(self, &self->world.stream, LOC_OP, 1))
		TH_LOG("launch with OVERLAP: %s", self->why);
	make(&self->entry, WAIT);
	self->entry.header.flags |= CMX_ENTRY_OVERLAP;
	EXPECT_TRUE(fails(self, &self->world.sdma, LOC_OP, 1))
		TH_LOG("wait with OVERLAP: %s", self->why);
	make(&self->entry, COPY);
	self->entry.header.flags |= CMX_ENTRY_INLINE;
	EXPECT_TRUE(fails(self, &self->world.sdma, LOC_OP, 1))
		TH_LOG("copy with INLINE: %s", self->why);
}

/* More slots than the operation has, all of them there. */
TEST_F(errors, slots)
{
	static const __u8 most[NUM_BASES] = {
		[COPY ... NOP] = 1, [WRITE ... NOTIFY] = 2, [FADD ... CAS] = 2, [SEND] = 2,
		[LAUNCH] = 4,
	};
	unsigned int base, slots;

	make_list(&self->world);
	for (base = 0; base < NUM_BASES; base++) {
		for (slots = most[base] + 1; slots <= CMX_ENTRY_MAX_SLOTS; slots++) {
			if (base == INLINE || base == GATHER)
				continue;
			make(&self->entry, base);
			self->entry.header.slots = (__u8)slots;
			EXPECT_TRUE(fails(self, queue_of(&self->world, base), LOC_OP, 1))
				TH_LOG("%s of %u slots: %s", base_names[base], slots, self->why);
		}
	}
}

TEST_F(errors, opcodes)
{
	struct abi_ring *queues[] = { &self->world.stream, &self->world.sdma, &self->world.ub };
	static const __u8 unknown[] = { 0x03, 0x0f, 0x11, 0x27, 0x43, 0x50, 0x52, 0x7f, 0x8f,
					0x94, 0xa5, 0xaf, 0xb1, 0xff };
	static const struct { enum base base; __u8 queue; } foreign[] = {
		{ LAUNCH, 1 }, { LAUNCH, 2 }, { WRITE, 0 }, { WRITE, 1 }, { READ, 1 }, { FADD, 0 },
		{ SEND, 0 }, { COPY, 2 }, { COPY_SG, 2 }, { FILL, 2 },
	};
	unsigned int i, j;

	for (i = 0; i < ABI_ARRAY_SIZE(unknown); i++) {
		for (j = 0; j < 3; j++) {
			make(&self->entry, NOP);
			self->entry.header.opcode = unknown[i];
			EXPECT_TRUE(fails(self, queues[j], NO_OPCODE, 2))
				TH_LOG("opcode %#x class %u: %s", unknown[i], j, self->why);
		}
	}
	for (i = 0; i < ABI_ARRAY_SIZE(foreign); i++) {
		make(&self->entry, foreign[i].base);
		EXPECT_TRUE(fails(self, queues[foreign[i].queue], NO_OPCODE, 1))
			TH_LOG("%s on class %u: %s", base_names[foreign[i].base],
			       foreign[i].queue, self->why);
	}
}

/* Where the next entry begins cannot be known: the queue fails, nothing is carried out. */
TEST_F(errors, unparsable)
{
	static const __u8 slots[] = { 0, 5, 64, 255, 2, 3, 4 };
	struct abi_ring *queue = &self->world.sdma;
	struct cmx_cqe cqe;
	unsigned int i;
	bool marker;

	memset(self->world.mem.bytes, 0x66, 100);
	for (i = 0; i < ABI_ARRAY_SIZE(slots); i++) {
		make(&self->entry, COPY);
		abi_post(queue, &self->entry);
		queue->slot[(queue->tail - 1) & (queue->slots - 1)][0] = slots[i];
		abi_kick(self->world.fd, &self->world.clock, queue);
		for (marker = false; !marker; marker = cqe.flags & CMX_CQE_MARKER) {
			ASSERT_EQ(CMX_RUN_DONE,
				  abi_run_cq(self->world.fd, &self->world.cq, 1, NULL));
			ASSERT_TRUE(abi_cqe_take(&self->world.cq, &cqe));
		}
		EXPECT_EQ(UB_CR_WR_FLUSH_ERR_DONE, cqe.status);
		EXPECT_TRUE(recover(self, queue, UB_CR_LOC_OPERATION_ERR))
			TH_LOG("slots %u: %s", slots[i], self->why);
		EXPECT_TRUE(works(self, queue))
			TH_LOG("slots %u: %s", slots[i], self->why);
	}
	EXPECT_EQ(0, self->world.mem.bytes[DST - SRC]);
}

/* A tail further ahead than the ring is long. */
TEST_F(errors, bad_tail)
{
	static const __u32 ahead[] = { 65, 66, 1000, 0x7fffffff, 0x80000000, 0xffffffff };
	struct abi_ring *queue = &self->world.sdma;
	struct cmx_cqe cqe;
	unsigned int i;

	for (i = 0; i < ABI_ARRAY_SIZE(ahead); i++) {
		queue->tail = queue->consumer->head + ahead[i];
		ASSERT_EQ(0, abi_kick(self->world.fd, &self->world.clock, queue));
		ASSERT_EQ(CMX_RUN_DONE, abi_run_cq(self->world.fd, &self->world.cq, 1, NULL));
		ASSERT_TRUE(abi_cqe_take(&self->world.cq, &cqe));
		EXPECT_EQ(UB_CR_WR_FLUSH_ERR_DONE, cqe.status);
		EXPECT_TRUE(recover(self, queue, UB_CR_LOC_OPERATION_ERR))
			TH_LOG("%u ahead: %s", ahead[i], self->why);
		queue->tail = queue->consumer->head;
		EXPECT_TRUE(works(self, queue))
			TH_LOG("%u ahead: %s", ahead[i], self->why);
	}
}

/* Elements of a list are checked like entries; those before a bad one were copied. */
TEST_F(errors, copy_sg_elements)
{
	static const struct { struct cmx_sg sg; __u32 mask; } cases[] = {
		{ { NO_VA, SRC, 8, 0 }, LOC_ACC }, { { DST, NO_VA, 8, 0 }, LOC_ACC },
		{ { DST, SRC, 0, 0 }, LOC_LEN }, { { DST, SRC, 1ULL << 62, 0 }, LOC_LEN },
		{ { DST, SRC, 8, 1 }, LOC_OP }, { { END - 7, SRC, 8, 0 }, LOC_ACC },
		{ { DST, -8, 8, 0 }, LOC_ACC }, { { RO_VA, SRC, 8, 0 }, LOC_ACC },
		{ { DST, WO_VA, 8, 0 }, LOC_ACC },
	};
	struct cmx_sg *list = (struct cmx_sg *)(self->world.mem.bytes + ABI_PAGE);
	unsigned int i;

	for (i = 0; i < ABI_ARRAY_SIZE(cases); i++) {
		list[0] = (struct cmx_sg){ DST + 64, SRC, 8, 0 };
		list[1] = cases[i].sg;
		make(&self->entry, COPY_SG);
		self->entry.copy_sg.count = 2;
		EXPECT_TRUE(fails(self, &self->world.sdma, cases[i].mask, 1))
			TH_LOG("element %u: %s", i, self->why);
	}
}

/* A state change by the client flushes what is in the ring. */
TEST_F(errors, set_state)
{
	struct abi_ring *queue = &self->world.sdma;
	struct cmx_cqe cqe;
	unsigned int i;

	for (i = 0; i < 5; i++) {
		make(&self->entry, WAIT);
		self->entry.wait.value = 12345;
		self->entry.header.user_ctx = i;
		ASSERT_TRUE(abi_post(queue, &self->entry));
	}
	ASSERT_EQ(0, abi_kick(self->world.fd, &self->world.clock, queue));
	ASSERT_EQ(CMX_RUN_STALL, abi_run_idle(self->world.fd, NULL));
	ASSERT_EQ(0, abi_queue_state(self->world.fd, queue->handle, UB_QUEUE_ERROR));
	EXPECT_EQ(-EBUSY, abi_queue_state(self->world.fd, queue->handle, UB_QUEUE_READY));
	ASSERT_EQ(CMX_RUN_DONE, abi_run_cq(self->world.fd, &self->world.cq, 6, NULL));
	for (i = 0; i < 6; i++) {
		ASSERT_TRUE(abi_cqe_take(&self->world.cq, &cqe));
		if (i < 5) {
			EXPECT_EQ(UB_CR_WR_FLUSH_ERR, cqe.status);
			EXPECT_EQ(i, cqe.user_ctx);
		} else {
			EXPECT_EQ(UB_CR_WR_FLUSH_ERR_DONE, cqe.status);
		}
	}
	EXPECT_EQ(0, abi_queue_state(self->world.fd, queue->handle, UB_QUEUE_READY));
	EXPECT_TRUE(works(self, queue))
		TH_LOG("%s", self->why);
}

/* A mapping that goes while entries wait for it. */
TEST_F(errors, unmap_under_wait)
{
	struct abi_mem mem;
	struct cmx_cqe cqe;

	ASSERT_EQ(0, abi_mem_create(self->world.fd, 0, NO_VA, ABI_PAGE, &mem));
	abi_entry_wait(&self->entry, NO_VA, CMX_COND_EQ, 1);
	ASSERT_EQ(0, abi_submit(&self->world, &self->world.sdma, &self->entry));
	ASSERT_EQ(CMX_RUN_STALL, abi_run_idle(self->world.fd, NULL));
	abi_mem_destroy(self->world.fd, &mem);
	ASSERT_EQ(0, abi_queue_state(self->world.fd, self->world.sdma.handle, UB_QUEUE_ERROR));
	ASSERT_EQ(CMX_RUN_DONE, abi_run_cq(self->world.fd, &self->world.cq, 2, NULL));
	ASSERT_TRUE(abi_cqe_take(&self->world.cq, &cqe));
	EXPECT_EQ(UB_CR_WR_FLUSH_ERR, cqe.status);
}

TEST_HARNESS_MAIN
