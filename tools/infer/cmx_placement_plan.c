// SPDX-License-Identifier: GPL-2.0-only
/*
 * From one placement to the next with the fewest moves. Which live rank gets which set of
 * experts is an assignment problem: the sum of what ranks can keep is made as large as it gets.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_placement.h"

/*
 * Sets are matched one by one. For each a shortest way is searched from the set over sets
 * matched before to a rank without one; a step's length is what it loses against prices of sets
 * and ranks, which are kept so that no step has a negative length.
 */
struct matching {
	uint32_t n;
	uint32_t *live;			/* ranks, n of them */
	int32_t *kept;			/* [set][rank]: experts both have */
	int64_t *set_price, *rank_price, *length;
	uint32_t *set_of;		/* of a rank, n: none */
	uint32_t *before;		/* rank before on the way, n: the set it begins with */
	bool *done;
};

static int64_t loss(const struct matching *m, uint32_t set, uint32_t rank)
{
	return -(int64_t)m->kept[(uint64_t)set * m->n + rank] - m->set_price[set] -
	       m->rank_price[rank];
}

/* Ways that go on from @set, at which @rank's way (n: none) of @at ended. */
static void reach(struct matching *m, uint32_t set, uint32_t rank, int64_t at)
{
	for (uint32_t j = 0; j < m->n; j++) {
		if (m->done[j] || at + loss(m, set, j) >= m->length[j])
			continue;
		m->length[j] = at + loss(m, set, j);
		m->before[j] = rank;
	}
}

static uint32_t nearest(const struct matching *m)
{
	uint32_t best = m->n;

	for (uint32_t j = 0; j < m->n; j++)
		if (!m->done[j] && (best == m->n || m->length[j] < m->length[best]))
			best = j;
	return best;
}

static void match_one(struct matching *m, uint32_t set)
{
	uint32_t rank, from;

	for (uint32_t j = 0; j < m->n; j++) {
		m->done[j] = false;
		m->length[j] = INT64_MAX;
	}
	reach(m, set, m->n, 0);
	for (rank = nearest(m); m->set_of[rank] < m->n; rank = nearest(m)) {
		m->done[rank] = true;
		reach(m, m->set_of[rank], rank, m->length[rank]);
	}
	m->set_price[set] += m->length[rank];
	for (uint32_t j = 0; j < m->n; j++) {
		if (!m->done[j])
			continue;
		m->set_price[m->set_of[j]] += m->length[rank] - m->length[j];
		m->rank_price[j] -= m->length[rank] - m->length[j];
	}
	/* Each on the way gives its rank to the one before it. */
	for (; m->before[rank] < m->n; rank = from) {
		from = m->before[rank];
		m->set_of[rank] = m->set_of[from];
	}
	m->set_of[rank] = set;
}

static int matching_open(struct matching *m, uint32_t ranks, struct cmx_infer_err *err)
{
	m->live = calloc(ranks, sizeof(*m->live));
	m->kept = calloc((uint64_t)ranks * ranks, sizeof(*m->kept));
	m->set_price = calloc(ranks, sizeof(*m->set_price));
	m->rank_price = calloc(ranks, sizeof(*m->rank_price));
	m->length = calloc(ranks, sizeof(*m->length));
	m->set_of = calloc(ranks, sizeof(*m->set_of));
	m->before = calloc(ranks, sizeof(*m->before));
	m->done = calloc(ranks, sizeof(*m->done));
	if (m->live && m->kept && m->set_price && m->rank_price && m->length && m->set_of &&
	    m->before && m->done)
		return 0;
	return cmx_infer_fail(err, -ENOMEM, "no memory for a plan of %u ranks", ranks);
}

static void matching_close(struct matching *m)
{
	free(m->live);
	free(m->kept);
	free(m->set_price);
	free(m->rank_price);
	free(m->length);
	free(m->set_of);
	free(m->before);
	free(m->done);
}

static int32_t common(const struct cmx_placement *next, uint32_t a,
		      const struct cmx_placement *old, uint32_t b)
{
	const int32_t *places = cmx_placement_of(next, a);
	int32_t n = 0;

	for (uint32_t i = 0; i < next->local; i++)
		n += places[i] >= 0 && cmx_placement_has(old, b, (uint32_t)places[i]);
	return n;
}

static void match(struct matching *m, const struct cmx_placement *old,
		  const struct cmx_placement *next, const uint64_t *failed)
{
	for (uint32_t rank = 0; rank < next->ranks; rank++)
		if (!cmx_placement_failed(failed, rank))
			m->live[m->n++] = rank;
	for (uint32_t i = 0; i < m->n; i++) {
		m->set_of[i] = m->n;
		for (uint32_t j = 0; j < m->n; j++)
			m->kept[i * m->n + j] = common(next, m->live[i], old, m->live[j]);
	}
	for (uint32_t set = 0; set < m->n; set++)
		match_one(m, set);
}

/* A rank's new set: what it has stays where it is, the rest goes to what is free then. */
static void settle(const int32_t *set, const int32_t *old, int32_t *to, uint32_t local)
{
	uint32_t place = 0;

	for (uint32_t i = 0; i < local; i++) {
		to[i] = CMX_PLACEMENT_NONE;
		for (uint32_t k = 0; k < local; k++)
			if (set[k] >= 0 && set[k] == old[i])
				to[i] = old[i];
	}
	for (uint32_t k = 0; k < local; k++) {
		bool stays = false;

		for (uint32_t i = 0; i < local; i++)
			stays |= to[i] == set[k];
		if (set[k] < 0 || stays)
			continue;
		while (to[place] >= 0)
			place++;
		to[place] = set[k];
	}
}

static int hand_out(const struct cmx_placement *old, struct cmx_placement *next,
		    const uint64_t *failed, struct cmx_infer_err *err)
{
	uint64_t places = (uint64_t)next->ranks * next->local;
	int32_t *sets = malloc(places * sizeof(*sets));
	struct matching m = {};
	int ret = matching_open(&m, next->ranks, err);

	if (!sets && !ret)
		ret = cmx_infer_fail(err, -ENOMEM, "no memory for a plan of %u ranks",
				     next->ranks);
	if (!ret) {
		memcpy(sets, next->table, places * sizeof(*sets));
		match(&m, old, next, failed);
	}
	for (uint32_t j = 0; j < m.n && !ret; j++)
		settle(sets + (uint64_t)m.live[m.set_of[j]] * next->local,
		       cmx_placement_of(old, m.live[j]), cmx_placement_of(next, m.live[j]),
		       next->local);
	matching_close(&m);
	free(sets);
	return ret;
}

/* ------------------------------------------------------------------------------- moves */

static uint32_t apart(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

/* The live rank with the expert that is read the least so far, of equals the nearest. */
static void find_source(const struct cmx_placement *old, const uint64_t *failed,
			const uint32_t *reads, struct cmx_placement_move *move)
{
	uint32_t best = old->ranks;

	for (uint32_t rank = 0; rank < old->ranks; rank++) {
		if (cmx_placement_failed(failed, rank) ||
		    !cmx_placement_has(old, rank, move->expert))
			continue;
		if (best == old->ranks || reads[rank] < reads[best] ||
		    (reads[rank] == reads[best] &&
		     apart(rank, move->to_rank) < apart(best, move->to_rank)))
			best = rank;
	}
	move->from_rank = best < old->ranks ? (int32_t)best : CMX_PLACEMENT_HOST;
	for (uint32_t i = 0; best < old->ranks && i < old->local; i++)
		if (cmx_placement_of(old, best)[i] == (int32_t)move->expert)
			move->from_place = i;
}

static void find_moves(const struct cmx_placement *old, const struct cmx_placement *next,
		       const uint64_t *failed, uint32_t *reads, struct cmx_placement_plan *plan)
{
	uint64_t places = (uint64_t)next->ranks * next->local;

	for (uint64_t i = 0; i < places; i++) {
		struct cmx_placement_move *move = &plan->moves[plan->count];

		if (next->table[i] < 0 || next->table[i] == old->table[i])
			continue;
		*move = (struct cmx_placement_move){
			.expert = (uint32_t)next->table[i],
			.to_rank = (uint32_t)(i / next->local),
			.to_place = (uint32_t)(i % next->local),
			.stash = CMX_PLACEMENT_NONE,
		};
		find_source(old, failed, reads, move);
		if (move->from_rank >= 0)
			reads[move->from_rank]++;
		plan->count++;
	}
}

static bool reads_place(const struct cmx_placement_move *m, uint32_t rank, uint32_t place)
{
	return m->stash < 0 && m->from_rank == (int32_t)rank && m->from_place == place;
}

/* Another move that has yet to read what @i overwrites, or count. */
static uint32_t find_reader(const struct cmx_placement_plan *plan, uint32_t i, uint32_t first)
{
	const struct cmx_placement_move *m = &plan->moves[i];

	for (uint32_t k = first; k < plan->count; k++)
		if (k != i && reads_place(&plan->moves[k], m->to_rank, m->to_place))
			return k;
	return plan->count;
}

/* The next move of those from @first on that overwrites nothing still to be read, or count. */
static uint32_t find_next(const struct cmx_placement_plan *plan, uint32_t first)
{
	uint32_t i = first;

	while (i < plan->count && find_reader(plan, i, first) < plan->count)
		i++;
	return i;
}

/* Moves in a circle: the one that reads what the first of them overwrites gets a stash. */
static void use_stash(struct cmx_placement_plan *plan, uint32_t first)
{
	struct cmx_placement_move *reader = &plan->moves[find_reader(plan, first, first)];
	uint32_t stashes = 0;

	for (uint32_t i = 0; i < plan->count; i++)
		stashes += plan->moves[i].stash >= 0 && plan->moves[i].to_rank == reader->to_rank;
	reader->stash = (int32_t)stashes;
	if (stashes + 1 > plan->stashes)
		plan->stashes = stashes + 1;
}

static void order_moves(struct cmx_placement_plan *plan)
{
	for (uint32_t first = 0; first < plan->count; first++) {
		struct cmx_placement_move move;
		uint32_t i;

		for (i = find_next(plan, first); i == plan->count; i = find_next(plan, first))
			use_stash(plan, first);
		move = plan->moves[i];
		memmove(&plan->moves[first + 1], &plan->moves[first],
			(i - first) * sizeof(move));
		plan->moves[first] = move;
	}
}

static int check_pair(const struct cmx_placement *old, const struct cmx_placement *next,
		      const uint64_t *failed, struct cmx_infer_err *err)
{
	if (old->ranks != next->ranks || old->local != next->local ||
	    old->experts != next->experts)
		return cmx_infer_fail(err, -EINVAL,
				      "plan: next has %u ranks, %u places, %u experts, old %u, %u, %u",
				      next->ranks, next->local, next->experts, old->ranks,
				      old->local, old->experts);
	for (uint64_t i = 0; i < (uint64_t)next->ranks * next->local; i++) {
		if (next->table[i] >= 0 &&
		    cmx_placement_failed(failed, (uint32_t)(i / next->local)))
			return cmx_infer_fail(err, -EINVAL,
					      "plan: next has expert %d on failed rank %u",
					      next->table[i], (uint32_t)(i / next->local));
	}
	return 0;
}

int cmx_placement_plan(const struct cmx_placement *old, struct cmx_placement *next,
		       const uint64_t *failed, struct cmx_placement_plan *plan,
		       struct cmx_infer_err *err)
{
	uint64_t places = (uint64_t)next->ranks * next->local;
	uint32_t *reads = NULL;
	int ret = check_pair(old, next, failed, err);

	memset(plan, 0, sizeof(*plan));
	if (!ret)
		ret = hand_out(old, next, failed, err);
	if (ret)
		return ret;
	reads = calloc(next->ranks, sizeof(*reads));
	plan->moves = calloc(places, sizeof(*plan->moves));
	if (!reads || !plan->moves) {
		free(reads);
		cmx_placement_plan_free(plan);
		return cmx_infer_fail(err, -ENOMEM, "no memory for a plan of %llu places",
				      (unsigned long long)places);
	}
	find_moves(old, next, failed, reads, plan);
	order_moves(plan);
	free(reads);
	return 0;
}

void cmx_placement_plan_free(struct cmx_placement_plan *plan)
{
	free(plan->moves);
	memset(plan, 0, sizeof(*plan));
}
