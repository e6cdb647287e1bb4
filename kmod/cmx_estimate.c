// SPDX-License-Identifier: GPL-2.0-only
/* What a way gives: real transfers, charged to an idle machine. */
#include <linux/sizes.h>
#include <linux/slab.h>

#include "cmx_entity.h"
#include "cmx_flow.h"
#include "cmx_server.h"
#include "cmx_time.h"

#define CMX_ESTIMATE_SMALL	512
#define CMX_ESTIMATE_LARGE	SZ_64M

/* The servers are idle: each transfer begins when the one before has ended. */
static u64 cmx_estimate_time(struct cmx_servers *servers, struct cmx_transfer *x, u32 planes,
			     u64 bytes, u64 *start)
{
	struct cmx_flow flow;
	u64 time;

	x->bytes = bytes;
	cmx_flow_begin(&flow, servers, x, planes, *start);
	if (cmx_flow_step(servers, &flow, U64_MAX - 1))
		return 0;
	time = flow.end - *start;
	*start = flow.end;
	return time;
}

/* Two sizes differ by what their bytes take, whatever else they take. */
static void cmx_estimate(struct cmx_servers *servers, struct cmx_transfer *x, u32 planes, u64 *rate,
			 u64 *time, u64 *start)
{
	u64 large;

	*rate = 0;
	*time = cmx_estimate_time(servers, x, planes, CMX_ESTIMATE_SMALL, start);
	large = cmx_estimate_time(servers, x, planes, CMX_ESTIMATE_LARGE, start);
	if (*time && large > *time)
		*rate = cmx_time_part(CMX_ESTIMATE_LARGE - CMX_ESTIMATE_SMALL, CMX_PS_PER_S,
				      large - *time);
}

int cmx_route_estimate(struct cmx_machine *machine, struct cmx_routes *routes, u32 from, u32 to,
		       u32 planes, struct cmx_estimate *estimate)
{
	struct cmx_transfer read = { .initiator = from, .from = to, .to = from, .messages = 1 };
	struct cmx_transfer write = { .initiator = from, .from = from, .to = to, .messages = 1 };
	struct cmx_servers *servers = kzalloc(sizeof(*servers), GFP_KERNEL_ACCOUNT);
	u64 start = 0;

	if (!servers || cmx_servers_init(servers, machine)) {
		kfree(servers);
		return -ENOMEM;
	}
	cmx_servers_use_routes(servers, routes);
	cmx_servers_restrict(servers, planes);
	cmx_estimate(servers, &read, planes, &estimate->read_rate, &estimate->read_ps, &start);
	cmx_estimate(servers, &write, planes, &estimate->write_rate, &estimate->write_ps, &start);
	cmx_servers_fini(servers);
	kfree(servers);
	return 0;
}
