// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_recording.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmx_kv_pages.h"
#include "cmx_layout.h"

#define RECORD_MAGIC		"CMXDECIS"
#define RECORD_VERSION		5u
#define RECORD_MAX_POSITIONS	(1u << 24)

struct record_start {
	char magic[8];
	uint32_t version;
};

/* What the steps were made by stands in the file as it does in memory. */
#define RECORD_SHAPE	(offsetof(struct cmx_recording, tp) + sizeof(uint32_t))
_Static_assert(RECORD_SHAPE == 17 * sizeof(uint32_t), "another shape is another version");

struct record_sequence {
	uint32_t n_prompt;
	uint32_t n_output;
	uint32_t most;
	uint32_t end;
	uint32_t n_guesses;
	uint32_t top_k;
	float temp;
	float top_p;
	float min_p;
	float penalty;
};

/* CRC-32C (Castagnoli), bit by bit reflected. */
static uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
	const uint8_t *p = data;

	crc = ~crc;
	while (len--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static uint64_t ids_of(const struct cmx_decisions *d)
{
	return (uint64_t)d->n_prompt + d->n_output;
}

static uint64_t experts_of(const struct cmx_decisions *d)
{
	return (uint64_t)cmx_decisions_positions(d) * d->n_moe * d->n_used;
}

static int put(FILE *f, const void *data, size_t len, uint32_t *crc)
{
	*crc = crc32c(*crc, data, len);
	return fwrite(data, 1, len, f) == len ? 0 : -EIO;
}

static int put_sequence(FILE *f, const struct cmx_decisions *d, uint32_t *crc)
{
	const struct record_sequence s = {
		.n_prompt = d->n_prompt, .n_output = d->n_output, .most = d->most, .end = d->end,
		.n_guesses = d->n_guesses, .top_k = d->top_k, .temp = d->temp,
		.top_p = d->top_p, .min_p = d->min_p, .penalty = d->penalty,
	};

	return put(f, &s, sizeof(s), crc);
}

static int put_body(FILE *f, const struct cmx_decisions *d, uint32_t *crc)
{
	uint64_t entries = cmx_decisions_guess_entries(d, d->n_guesses);
	int ret = put(f, d->ids, ids_of(d) * sizeof(*d->ids), crc);

	if (!ret)
		ret = put(f, d->experts, experts_of(d) * sizeof(*d->experts), crc);
	if (!ret)
		ret = put(f, d->guesses, d->n_guesses * sizeof(*d->guesses), crc);
	return ret ? ret : put(f, d->guess_experts, entries * sizeof(*d->guess_experts), crc);
}

int cmx_recording_write(const struct cmx_recording *r, FILE *f, struct cmx_infer_err *err)
{
	const struct record_start start = { .magic = RECORD_MAGIC, .version = RECORD_VERSION };
	uint32_t crc = 0;
	int ret = put(f, &start, sizeof(start), &crc);

	if (!ret)
		ret = put(f, r, RECORD_SHAPE, &crc);
	for (uint32_t i = 0; i < r->n && !ret; i++)
		ret = put_sequence(f, r->seq[i], &crc);
	for (uint32_t i = 0; i < r->n && !ret; i++)
		ret = put_body(f, r->seq[i], &crc);
	if (!ret && fwrite(&crc, 1, sizeof(crc), f) != sizeof(crc))
		ret = -EIO;
	return ret ? cmx_infer_fail(err, ret, "decisions: write failed") : 0;
}

struct header_field {
	const char *name;
	uint32_t val;
	uint32_t min;
	uint32_t max;
};

static int check_fields(const struct header_field *x, size_t n, struct cmx_infer_err *err)
{
	for (; n--; x++) {
		if (x->val < x->min || x->val > x->max)
			return cmx_infer_fail(err, -EINVAL, "decisions: %s is %u, must be %u..%u",
					      x->name, x->val, x->min, x->max);
	}
	return 0;
}

static int check_sampling(const struct record_sequence *h, struct cmx_infer_err *err)
{
	const struct {
		const char *name;
		double val, min, max;
	} fields[] = {
		{ "temperature", (double)h->temp, 0, 100 },
		{ "top-p", (double)h->top_p, 0.0000001, 1 },
		{ "min-p", (double)h->min_p, 0, 1 },
		{ "repetition penalty", (double)h->penalty, 0.01, 100 },
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		/* A NaN is in no range. */
		if (fields[i].val >= fields[i].min && fields[i].val <= fields[i].max)
			continue;
		return cmx_infer_fail(err, -EINVAL, "decisions: %s is %g, must be %g..%g",
				      fields[i].name, fields[i].val, fields[i].min, fields[i].max);
	}
	return 0;
}

static int check_start(const struct record_start *s, struct cmx_infer_err *err)
{
	const struct header_field version = {
		"version", s->version, RECORD_VERSION, RECORD_VERSION
	};

	if (memcmp(s->magic, RECORD_MAGIC, sizeof(s->magic)))
		return cmx_infer_fail(err, -EINVAL, "decisions: not a decisions file");
	return check_fields(&version, 1, err);
}

static int check_shape(const struct cmx_recording *h, struct cmx_infer_err *err)
{
	const struct header_field fields[] = {
		{ "MTP flag", h->mtp, 0, 1 },
		{ "MoE layer count", h->n_moe, h->mtp, CMX_MAX_LAYERS + 1 },
		{ "expert count", h->n_expert, h->n_moe ? 1 : 0, CMX_MAX_EXPERTS },
		{ "experts used", h->n_used, h->n_moe ? 1 : 0,
		  h->n_expert < CMX_MAX_EXPERTS_USED ? h->n_expert : CMX_MAX_EXPERTS_USED },
		{ "vocabulary size", h->vocab, 1, 1u << 24 },
		{ "sequence count", h->n, 1, CMX_MAX_SEQUENCES },
		{ "tokens of a step", h->chunk, 1, RECORD_MAX_POSITIONS },
		{ "sequences of a step", h->max_batch, 1, CMX_MAX_SEQUENCES },
		{ "context", h->ctx, 1, RECORD_MAX_POSITIONS },
		{ "page count", h->pages, 1, RECORD_MAX_POSITIONS },
		{ "page shift", h->page_shift, CMX_KV_MIN_SHIFT, CMX_KV_MAX_SHIFT },
		{ "all-logits flag", h->all_logits, 0, 1 },
		{ "absorbed-prompts flag", h->absorb, 0, 1 },
		{ "no-reuse flag", h->no_reuse, 0, 1 },
		{ "expert-parallel ranks", h->ep, 1, CMX_MAX_RANKS },
		{ "data-parallel groups", h->dp, 1, h->ep },
		{ "dies of a group", h->tp, h->dp ? h->ep / h->dp : 1, h->dp ? h->ep / h->dp : 1 },
	};

	return check_fields(fields, sizeof(fields) / sizeof(fields[0]), err);
}

static int check_sequence(const struct record_sequence *s, bool mtp, struct cmx_infer_err *err)
{
	bool refused = s->end == CMX_END_ERROR && !s->n_output;
	const struct header_field fields[] = {
		{ "prompt length", s->n_prompt, !refused, RECORD_MAX_POSITIONS },
		{ "output length", s->n_output, 0, RECORD_MAX_POSITIONS },
		{ "most output tokens", s->most, s->n_output, RECORD_MAX_POSITIONS },
		{ "end reason", s->end, CMX_END_LENGTH, CMX_END_ERROR },
		{ "guess count", s->n_guesses, 0, mtp ? s->n_output : 0 },
	};
	int ret = check_fields(fields, sizeof(fields) / sizeof(fields[0]), err);

	if (ret)
		return ret;
	if (!s->n_output && (s->end == CMX_END_EOS || s->end == CMX_END_STOP))
		return cmx_infer_fail(err, -EINVAL,
				      "decisions: the end reason is %u, the output length 0",
				      s->end);
	if (s->n_output != s->most && s->end == CMX_END_LENGTH)
		return cmx_infer_fail(err, -EINVAL,
				      "decisions: %u of %u output tokens, and no other end reason",
				      s->n_output, s->most);
	return check_sampling(s, err);
}

static int get(int fd, void *data, size_t len, uint32_t *crc, struct cmx_infer_err *err)
{
	size_t done = 0;

	while (done < len) {
		ssize_t r = read(fd, (char *)data + done, len - done);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return cmx_infer_fail(err, -errno, "decisions: read: %s", strerror(errno));
		if (!r)
			return cmx_infer_fail(err, -EINVAL, "decisions: file ends %zu bytes early",
					      len - done);
		done += (size_t)r;
	}
	*crc = crc32c(*crc, data, len);
	return 0;
}

/* One token's experts in one layer: all of them are there, each once, or none are. */
static int check_choice(const struct cmx_recording *r, const uint16_t *e, uint64_t entry,
			struct cmx_infer_err *err)
{
	uint32_t none = 0;

	for (uint32_t i = 0; i < r->n_used; i++) {
		none += e[i] == CMX_NOT_ROUTED;
		if (e[i] >= r->n_expert && e[i] != CMX_NOT_ROUTED)
			return cmx_infer_fail(err, -EINVAL, "decisions: expert %u at entry %" PRIu64
					      ", must be below %u", e[i], entry + i, r->n_expert);
		for (uint32_t j = 0; j < i; j++) {
			if (e[j] == e[i] && e[i] != CMX_NOT_ROUTED)
				return cmx_infer_fail(err, -EINVAL,
						      "decisions: expert %u at entry %" PRIu64
						      " stands twice for one token", e[i],
						      entry + i);
		}
	}
	if (!none || none == r->n_used)
		return 0;
	return cmx_infer_fail(err, -EINVAL, "decisions: %u of %u experts missing at entry %" PRIu64,
			      none, r->n_used, entry);
}

/* Each id and expert is used as an index later. */
static int check_values(const struct cmx_recording *r, const struct cmx_decisions *d,
			struct cmx_infer_err *err)
{
	uint64_t guess_entries = cmx_decisions_guess_entries(d, d->n_guesses);
	int ret = 0;

	/* A prompt that was refused may be so for just this. */
	for (uint32_t i = 0; i < ids_of(d) && cmx_decisions_positions(d); i++) {
		if (d->ids[i] >= r->vocab)
			return cmx_infer_fail(err, -EINVAL,
					      "decisions: token %u is %u, must be below %u", i,
					      d->ids[i], r->vocab);
	}
	for (uint32_t i = 0; i < d->n_guesses; i++) {
		if (d->guesses[i] >= r->vocab)
			return cmx_infer_fail(err, -EINVAL,
					      "decisions: guess %u is %u, must be below %u", i,
					      d->guesses[i], r->vocab);
	}
	for (uint64_t i = 0; i < experts_of(d) && !ret; i += r->n_used)
		ret = check_choice(r, d->experts + i, i, err);
	for (uint64_t i = 0; i < guess_entries && !ret; i += r->n_used)
		ret = check_choice(r, d->guess_experts + i, i, err);
	return ret;
}

/* Before any memory is taken: the counts must agree with the file's size. */
static int check_size(uint64_t want, int fd, bool least, struct cmx_infer_err *err)
{
	struct stat st;

	if (fstat(fd, &st))
		return cmx_infer_fail(err, -errno, "decisions: fstat: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return cmx_infer_fail(err, -EINVAL, "decisions: not a regular file");
	if (least ? (uint64_t)st.st_size >= want : (uint64_t)st.st_size == want)
		return 0;
	return cmx_infer_fail(err, -EINVAL, "decisions: the file has %" PRIu64
			      " bytes, its counts ask for %" PRIu64, (uint64_t)st.st_size, want);
}

static int read_sequence(struct cmx_recording *r, struct cmx_decisions **out, int fd, uint32_t *crc,
			 struct cmx_infer_err *err)
{
	struct record_sequence s;
	struct cmx_decisions *d;
	int ret = get(fd, &s, sizeof(s), crc, err);

	if (!ret)
		ret = check_sequence(&s, r->mtp, err);
	if (ret)
		return ret;
	d = calloc(1, sizeof(*d));
	if (!d)
		return cmx_infer_fail(err, -ENOMEM, "no memory for the decisions");
	*d = (struct cmx_decisions){
		.n_moe = r->n_moe, .n_used = r->n_used, .n_prompt = s.n_prompt,
		.n_output = s.n_output, .most = s.most, .end = s.end,
		.n_guesses = s.n_guesses, .max_guesses = s.n_guesses, .top_k = s.top_k,
		.temp = s.temp, .top_p = s.top_p, .min_p = s.min_p, .penalty = s.penalty,
	};
	*out = d;
	return 0;
}

static int read_body(struct cmx_recording *r, struct cmx_decisions *d, int fd, uint32_t *crc,
		     struct cmx_infer_err *err)
{
	uint64_t entries = cmx_decisions_guess_entries(d, d->n_guesses);
	int ret;

	d->capacity = cmx_decisions_positions(d);
	d->ids = malloc((ids_of(d) + 1) * sizeof(*d->ids));
	d->experts = malloc((experts_of(d) + 1) * sizeof(*d->experts));
	d->guesses = malloc((d->n_guesses + 1ull) * sizeof(*d->guesses));
	d->guess_experts = malloc((entries + 1) * sizeof(*d->guess_experts));
	if (!d->ids || !d->experts || !d->guesses || !d->guess_experts)
		return cmx_infer_fail(err, -ENOMEM, "no memory for the decisions");
	ret = get(fd, d->ids, ids_of(d) * sizeof(*d->ids), crc, err);
	if (!ret)
		ret = get(fd, d->experts, experts_of(d) * sizeof(*d->experts), crc, err);
	if (!ret)
		ret = get(fd, d->guesses, d->n_guesses * sizeof(*d->guesses), crc, err);
	if (!ret)
		ret = get(fd, d->guess_experts, entries * sizeof(*d->guess_experts), crc, err);
	return ret ? ret : check_values(r, d, err);
}

static uint64_t body_size(const struct cmx_decisions *d)
{
	return (ids_of(d) + d->n_guesses) * sizeof(uint32_t) +
	       (experts_of(d) + cmx_decisions_guess_entries(d, d->n_guesses)) * sizeof(uint16_t);
}

static int read_sequences(struct cmx_recording *r, int fd, uint32_t *crc, struct cmx_infer_err *err)
{
	uint64_t size = sizeof(struct record_start) + RECORD_SHAPE + sizeof(uint32_t) +
			(uint64_t)r->n * sizeof(struct record_sequence);
	int ret = check_size(size, fd, true, err);

	if (ret)
		return ret;
	r->seq = calloc(r->n, sizeof(struct cmx_decisions *));
	if (!r->seq)
		return cmx_infer_fail(err, -ENOMEM, "no memory for the decisions");
	for (uint32_t i = 0; i < r->n && !ret; i++) {
		ret = read_sequence(r, &r->seq[i], fd, crc, err);
		if (!ret)
			size += body_size(r->seq[i]);
	}
	if (!ret)
		ret = check_size(size, fd, false, err);
	for (uint32_t i = 0; i < r->n && !ret; i++)
		ret = read_body(r, r->seq[i], fd, crc, err);
	return ret;
}

int cmx_recording_read(struct cmx_recording *r, int fd, struct cmx_infer_err *err)
{
	uint32_t crc = 0, want, unused = 0;
	struct cmx_recording h = { 0 };
	struct record_start start;
	int ret;

	*r = h;
	ret = get(fd, &start, sizeof(start), &crc, err);
	if (!ret)
		ret = check_start(&start, err);
	if (!ret)
		ret = get(fd, &h, RECORD_SHAPE, &crc, err);
	if (!ret)
		ret = check_shape(&h, err);
	if (ret)
		return ret;
	*r = h;
	ret = read_sequences(r, fd, &crc, err);
	if (!ret)
		ret = get(fd, &want, sizeof(want), &unused, err);
	if (!ret && want != crc)
		ret = cmx_infer_fail(err, -EINVAL, "decisions: checksum is %08x, must be %08x",
				     want, crc);
	return ret;
}

void cmx_recording_free(struct cmx_recording *r)
{
	for (uint32_t i = 0; r->seq && i < r->n; i++) {
		if (r->seq[i])
			cmx_decisions_free(r->seq[i]);
		free(r->seq[i]);
	}
	free(r->seq);
	r->seq = NULL;
}

int cmx_recording_match(const struct cmx_recording *r, const struct cmx_model_config *c,
			struct cmx_infer_err *err)
{
	uint32_t n_moe = cmx_model_n_moe(c) + r->mtp;

	if (r->mtp && !c->n_mtp)
		return cmx_infer_fail(err, -EINVAL,
				      "decisions: made with an MTP block, the model has none");
	if (r->n_moe == n_moe && r->n_expert == c->n_expert &&
	    r->n_used == c->n_used && r->vocab == c->vocab)
		return 0;
	return cmx_infer_fail(err, -EINVAL,
			      "decisions: made with %u MoE layers, %u of %u experts, %u tokens; the model has %u, %u of %u, %u",
			      r->n_moe, r->n_used, r->n_expert, r->vocab, n_moe,
			      c->n_used, c->n_expert, c->vocab);
}
