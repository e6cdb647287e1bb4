// SPDX-License-Identifier: GPL-2.0-only
/*
 * Store-and-forward is not modelled: a transfer holds the sender's and the receiver's
 * half port for the time its bytes take at the path's rate, begins when both are free,
 * and arrives a latency later.  docs/timing.md argues the terms.
 */
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "cmx_time.h"

#define CMX_PS_PER_S	1000000000000ULL

int cmx_servers_init(struct cmx_servers *servers, struct cmx_machine *machine)
{
	u32 n = DIV_ROUND_UP(machine->num_entities, CMX_SERVER_BLOCK);

	servers->machine = machine;
	servers->blocks = kcalloc(n, sizeof(*servers->blocks), GFP_KERNEL_ACCOUNT);
	return servers->blocks ? 0 : -ENOMEM;
}

void cmx_servers_fini(struct cmx_servers *servers)
{
	u32 n = DIV_ROUND_UP(servers->machine->num_entities, CMX_SERVER_BLOCK);

	for (u32 i = 0; servers->blocks && i < n; i++)
		kfree(servers->blocks[i]);
	kfree(servers->blocks);
}

static struct cmx_server *cmx_server(struct cmx_servers *servers, u32 entity)
{
	struct cmx_server **block = &servers->blocks[entity / CMX_SERVER_BLOCK];

	/*
	 * Half a page that may not fail: a command that touches several entities has
	 * charged some when it comes to the next, and cannot be tried again.
	 */
	if (!*block)
		*block = kcalloc(CMX_SERVER_BLOCK, sizeof(**block),
				 GFP_KERNEL_ACCOUNT | __GFP_NOFAIL);
	return *block + entity % CMX_SERVER_BLOCK;
}

/* Rounded up: a finite rate never moves bytes in no time. */
static u64 cmx_time_of(u64 amount, u64 rate)
{
	/* The division below faults on some machines when its result does not fit. */
	if (div64_u64(amount, rate) >= U64_MAX / CMX_PS_PER_S - 1)
		return U64_MAX;
	return amount ? mul_u64_u64_div_u64(amount, CMX_PS_PER_S, rate) + 1 : 0;
}

static enum cmx_path_kind cmx_path_between(const struct cmx_entity *a, const struct cmx_entity *b)
{
	bool far = a->node != b->node;

	if (a == b)
		return CMX_PATH_LOCAL;
	if (a->kind == CMX_ENTITY_SOCKET && b->kind == CMX_ENTITY_SOCKET)
		return CMX_PATH_CPU_CPU;
	if (a->kind == CMX_ENTITY_SOCKET || b->kind == CMX_ENTITY_SOCKET)
		return far ? CMX_PATH_CPU_INTER : CMX_PATH_CPU_INTRA;
	if (far)
		return CMX_PATH_NPU_INTER;
	return a->npu == b->npu ? CMX_PATH_SIBLING : CMX_PATH_NPU_INTRA;
}

static u64 cmx_mem_rate(const struct cmx_entity *entity)
{
	return entity->kind == CMX_ENTITY_DIE ? entity->profile->hbm_rate :
						entity->profile->socket_mem_rate;
}

static int cmx_mem_charge(struct cmx_server *server, const struct cmx_entity *entity, u64 begin,
			  u64 bytes, u64 *end)
{
	if (check_add_overflow(max(server->mem, begin), cmx_time_of(bytes, cmx_mem_rate(entity)),
			       end))
		return -EOVERFLOW;
	server->mem = *end;
	return 0;
}

/* Inside one entity: every byte is read and written by the same memory. */
static int cmx_time_local(struct cmx_transfer *x, struct cmx_server *server,
			  const struct cmx_entity *entity)
{
	u64 end;

	if (cmx_mem_charge(server, entity, x->start, 2 * x->bytes, &end) ||
	    check_add_overflow(end, entity->profile->write[CMX_PATH_LOCAL].latency_ps, &x->done))
		return -EOVERFLOW;
	return 0;
}

static int cmx_time_wire(struct cmx_transfer *x, u64 *tx, u64 *rx,
			 const struct cmx_path_speed *speed, u64 message_ps, u64 *begin)
{
	u64 hold = cmx_time_of(x->bytes, speed->rate), extra, end;

	*begin = max3(x->start, *tx, *rx);
	if (check_mul_overflow((u64)x->messages - 1, message_ps, &extra) ||
	    check_add_overflow(hold, extra, &hold) || check_add_overflow(*begin, hold, &end) ||
	    check_add_overflow(end, speed->latency_ps, &x->done))
		return -EOVERFLOW;
	*tx = end;
	*rx = end;
	return 0;
}

static int cmx_time_remote(struct cmx_transfer *x, struct cmx_server *from, struct cmx_server *to,
			   const struct cmx_entity *a, const struct cmx_entity *b)
{
	const struct cmx_profile *p = a->profile;
	enum cmx_path_kind kind = cmx_path_between(a, b);
	bool read = x->initiator == x->to;
	const struct cmx_path_speed *speed = read ? &p->read[kind] : &p->write[kind];
	bool sibling = kind == CMX_PATH_SIBLING;
	u64 begin, source, sink;
	int ret;

	ret = cmx_time_wire(x, sibling ? &to->die : &from->tx, sibling ? &to->die : &to->rx, speed,
			    p->message_ps, &begin);
	if (ret || cmx_mem_charge(from, a, begin, x->bytes, &source) ||
	    cmx_mem_charge(to, b, begin, x->bytes, &sink) ||
	    check_add_overflow(max(source, sink), speed->latency_ps, &source))
		return -EOVERFLOW;
	x->done = max(x->done, source);
	return 0;
}

int cmx_time_transfer(struct cmx_servers *servers, struct cmx_transfer *x)
{
	const struct cmx_entity *a = servers->machine->entities[x->from];
	const struct cmx_entity *b = servers->machine->entities[x->to];
	struct cmx_server *from = cmx_server(servers, x->from);
	struct cmx_server *to = cmx_server(servers, x->to);

	if (a == b)
		return cmx_time_local(x, from, a);
	return cmx_time_remote(x, from, to, a, b);
}

/* amount / (rate * cores / all * permille / 1000), rounded up. */
static u64 cmx_time_cores(u64 amount, u64 rate, u32 cores, u32 all, u32 permille)
{
	u64 effective = mul_u64_u64_div_u64(rate, (u64)cores * permille, (u64)all * 1000);

	return amount ? cmx_time_of(amount, max(effective, 1ULL)) : 0;
}

int cmx_time_launch(struct cmx_servers *servers, u32 entity, u32 cube, u32 vector,
		    const struct cmx_cost *cost, u64 start, u64 *done)
{
	const struct cmx_entity *e = servers->machine->entities[entity];
	const struct cmx_profile *p = e->profile;
	struct cmx_server *server = cmx_server(servers, entity);
	u32 eff = array_index_nospec(cost->efficiency, CMX_EFF_CLASSES);
	u32 ops = array_index_nospec(cost->op_class, CMX_OPS_CLASSES);
	u64 compute, begin, mem, end;

	compute = max(cmx_time_cores(cost->cube_ops, p->cube_rate[ops], cube,
				     p->cube_cores, p->compute_permille[eff]),
		      cmx_time_cores(cost->vector_ops, p->vector_rate, vector, p->vector_cores,
				     p->compute_permille[eff]));
	mem = cmx_time_cores(cost->mem_bytes, p->hbm_rate, 1, 1, p->mem_permille[eff]);
	if (check_add_overflow(start, p->launch_ps, &begin) ||
	    check_add_overflow(begin, compute, &end) ||
	    check_add_overflow(max(begin, server->mem), mem, &mem))
		return -EOVERFLOW;
	if (cost->mem_bytes)
		server->mem = mem;
	*done = cost->mem_bytes ? max(end, mem) : end;
	return 0;
}

u64 cmx_time_issue(const struct cmx_servers *servers)
{
	return servers->machine->profile->issue_ps;
}

u64 cmx_time_launch_overhead(const struct cmx_servers *servers)
{
	return servers->machine->profile->launch_ps;
}

/* The paths were fitted on 512 bytes (latency) and on large transfers (rate). */
bool cmx_time_extrapolated(u64 bytes)
{
	return bytes > SZ_4G;
}
