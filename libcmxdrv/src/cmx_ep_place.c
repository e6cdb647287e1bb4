// SPDX-License-Identifier: MIT
/*
 * Which rank has which expert, and in what order ranks send.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_ep_priv.h"
#include "cmx_fail.h"

static int check_place(const struct cmx_ep *ep, uint32_t i, int32_t expert)
{
	if (expert >= -1 && expert < (int64_t)ep->desc.experts)
		return 0;
	return cmx_fail(-EINVAL, "placement", (uint64_t)(int64_t)expert, ep->desc.experts,
			"placement: rank %u has expert %d in place %u, not -1 to %u",
			i / ep->desc.local, expert, i % ep->desc.local, ep->desc.experts - 1);
}

/* Replicas of each expert, counted one further on: prefix sums make the first ones of them. */
static int count_replicas(const struct cmx_ep *ep, const int32_t *placement, const bool *failed,
			  uint32_t *first)
{
	uint32_t places = ep->desc.ranks * ep->desc.local;

	for (uint32_t i = 0; i < places; i++) {
		int ret = check_place(ep, i, placement[i]);

		if (ret)
			return ret;
		if (placement[i] >= 0 && !failed[i / ep->desc.local])
			first[placement[i] + 1]++;
	}
	for (uint32_t e = 0; e < ep->desc.experts; e++)
		first[e + 1] += first[e];
	return 0;
}

int ep_map_make(const struct cmx_ep *ep, const int32_t *placement, const bool *failed,
		struct ep_map *map)
{
	uint32_t experts = ep->desc.experts, places = ep->desc.ranks * ep->desc.local;
	uint32_t *next = calloc(experts, sizeof(*next));
	int ret = -ENOMEM;

	map->first = calloc(experts + 1ul, sizeof(*map->first));
	map->places = calloc(places, sizeof(*map->places));
	if (map->first && map->places && next)
		ret = count_replicas(ep, placement, failed, map->first);
	else
		cmx_fail_call(ret, "placing the experts");
	for (uint32_t i = 0; i < places && !ret; i++) {
		int32_t e = placement[i];
		uint32_t rank = i / ep->desc.local;

		if (e < 0 || failed[rank])
			continue;
		map->places[map->first[e] + next[e]++] = (struct ep_place){
			.rank = (uint16_t)rank, .local = (uint16_t)(i % ep->desc.local),
		};
	}
	free(next);
	if (ret)
		ep_map_free(map);
	return ret;
}

void ep_map_free(struct ep_map *map)
{
	free(map->first);
	free(map->places);
	map->first = NULL;
	map->places = NULL;
}

int ep_check_ids(const struct cmx_ep *ep, const int32_t *ids)
{
	for (uint32_t k = 0; k < ep->desc.topk; k++) {
		if (ids[k] == -1)
			continue;
		if (ids[k] < -1 || ids[k] >= (int64_t)ep->desc.experts)
			return CMX_EP_CODE_IDS;
		for (uint32_t other = 0; other < k; other++) {
			if (ids[other] == ids[k])
				return CMX_EP_CODE_TWICE;
		}
	}
	return 0;
}

uint32_t ep_peer_steps(const struct cmx_ep *ep)
{
	uint32_t dies = ep->dies_per_npu;

	return (ep->desc.ranks + dies - 1) / dies * dies;
}

uint32_t ep_peer_at(const struct cmx_ep *ep, uint32_t rank, uint32_t step)
{
	uint32_t dies = ep->dies_per_npu, npus = ep_peer_steps(ep) / dies;

	return (rank / dies + step / dies) % npus * dies + (rank % dies + step % dies) % dies;
}

static int read_failed(const struct cmx_ep *ep, const uint64_t *mask, bool *failed,
		       uint32_t *live)
{
	*live = 0;
	for (uint32_t r = 0; r < ep->desc.ranks; r++) {
		failed[r] = mask && mask[r / 64] >> (r % 64) & 1;
		*live += !failed[r];
	}
	if (*live)
		return 0;
	return cmx_fail(-EINVAL, "failed", ep->desc.ranks, ep->desc.ranks - 1,
			"failed: all of %u ranks", ep->desc.ranks);
}

static int check_between_rounds(const struct cmx_ep *ep)
{
	for (uint32_t r = 0; r < ep->desc.ranks; r++) {
		const struct ep_rank *rank = &ep->ranks[r];

		if (!rank->failed && rank->summed != ep->rounds)
			return cmx_fail(-EBUSY, "rank", r, 0,
					"rank %u is in round %llu of %llu: placement and failed "
					"ranks change between rounds", r,
					(unsigned long long)rank->summed,
					(unsigned long long)ep->rounds);
	}
	return 0;
}

/* A rank that was failed takes part again from the next round on, as if it always had. */
static void take_failed(struct cmx_ep *ep, const bool *failed, uint32_t live)
{
	for (uint32_t r = 0; r < ep->desc.ranks; r++) {
		struct ep_rank *rank = &ep->ranks[r];

		rank->failed = failed[r];
		rank->posted = ep->rounds;
		rank->waited = ep->rounds;
		rank->returned = ep->rounds;
		rank->summed = ep->rounds;
	}
	ep->live = live;
}

int cmx_ep_set_placement(struct cmx_ep *ep, const int32_t *placement, const uint64_t *failed)
{
	size_t size = (size_t)ep->desc.ranks * ep->desc.local * sizeof(*placement);
	bool *mask = calloc(ep->desc.ranks, sizeof(*mask));
	struct ep_map map;
	uint32_t live;
	int ret = mask ? check_between_rounds(ep) : cmx_fail_call(-ENOMEM, "placing the experts");

	if (!ret)
		ret = read_failed(ep, failed, mask, &live);
	if (!ret)
		ret = ep_map_make(ep, placement ? placement : ep->placement, mask, &map);
	if (!ret) {
		ep_map_free(&ep->map);
		ep->map = map;
		if (placement)
			memcpy(ep->placement, placement, size);
		take_failed(ep, mask, live);
	}
	free(mask);
	return ret;
}
