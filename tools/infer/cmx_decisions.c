// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_decisions.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DECISIONS_MAGIC		"CMXDECIS"
#define DECISIONS_VERSION	2u
#define DECISIONS_MAX_POSITIONS	(1u << 24)

struct decisions_header {
	char magic[8];
	uint32_t version;
	uint32_t n_moe;
	uint32_t n_expert;
	uint32_t n_used;
	uint32_t vocab;
	uint32_t n_prompt;
	uint32_t n_output;
	uint32_t end;
	uint32_t chunk;
	uint32_t ctx;
	uint32_t all_logits;
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

static uint64_t expert_count(const struct cmx_decisions *d, uint64_t positions)
{
	return positions * d->n_moe * d->n_used;
}

static int decisions_alloc(struct cmx_decisions *d, struct cmx_infer_err *err)
{
	d->ids = calloc(d->capacity + 1ull, sizeof(*d->ids));
	d->experts = calloc(expert_count(d, d->capacity) + 1, sizeof(*d->experts));
	if (d->ids && d->experts)
		return 0;
	cmx_decisions_free(d);
	return cmx_infer_fail(err, -ENOMEM, "no memory for the decisions of %u positions",
			      d->capacity);
}

int cmx_decisions_init(struct cmx_decisions *d, const struct cmx_model_config *c,
		       uint32_t capacity, struct cmx_infer_err *err)
{
	*d = (struct cmx_decisions){
		.n_moe = cmx_model_n_moe(c), .n_expert = c->n_expert, .n_used = c->n_used,
		.vocab = c->vocab, .capacity = capacity,
	};
	return decisions_alloc(d, err);
}

void cmx_decisions_free(struct cmx_decisions *d)
{
	free(d->ids);
	free(d->experts);
	d->ids = NULL;
	d->experts = NULL;
}

uint32_t cmx_decisions_positions(const struct cmx_decisions *d)
{
	return d->n_prompt + d->n_output - (d->n_output > 0);
}

uint16_t *cmx_decisions_at(const struct cmx_decisions *d, uint32_t pos, uint32_t moe)
{
	return d->experts + ((uint64_t)pos * d->n_moe + moe) * d->n_used;
}

uint32_t cmx_decisions_active(const struct cmx_decisions *d, uint32_t moe, uint32_t pos,
			      uint32_t n)
{
	uint8_t seen[CMX_MAX_EXPERTS] = { 0 };
	uint32_t active = 0;

	for (uint32_t i = 0; i < n; i++) {
		const uint16_t *e = cmx_decisions_at(d, pos + i, moe);

		for (uint32_t j = 0; j < d->n_used; j++) {
			active += !seen[e[j]];
			seen[e[j]] = 1;
		}
	}
	return active;
}

static int put(FILE *f, const void *data, size_t len, uint32_t *crc)
{
	*crc = crc32c(*crc, data, len);
	return fwrite(data, 1, len, f) == len ? 0 : -EIO;
}

int cmx_decisions_write(const struct cmx_decisions *d, FILE *f, struct cmx_infer_err *err)
{
	const struct decisions_header h = {
		.magic = DECISIONS_MAGIC, .version = DECISIONS_VERSION, .n_moe = d->n_moe,
		.n_expert = d->n_expert, .n_used = d->n_used, .vocab = d->vocab,
		.n_prompt = d->n_prompt, .n_output = d->n_output, .end = d->end,
		.chunk = d->chunk, .ctx = d->ctx, .all_logits = d->all_logits, .top_k = d->top_k,
		.temp = d->temp, .top_p = d->top_p, .min_p = d->min_p, .penalty = d->penalty,
	};
	uint64_t n = expert_count(d, cmx_decisions_positions(d));
	uint32_t crc = 0;
	int ret = put(f, &h, sizeof(h), &crc);

	if (!ret)
		ret = put(f, d->ids, (d->n_prompt + d->n_output) * sizeof(*d->ids), &crc);
	if (!ret)
		ret = put(f, d->experts, n * sizeof(*d->experts), &crc);
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

static int check_sampling(const struct decisions_header *h, struct cmx_infer_err *err)
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

static int check_header(const struct decisions_header *h, struct cmx_infer_err *err)
{
	const struct header_field fields[] = {
		{ "version", h->version, DECISIONS_VERSION, DECISIONS_VERSION },
		{ "MoE layer count", h->n_moe, 0, CMX_MAX_LAYERS },
		{ "expert count", h->n_expert, h->n_moe ? 1 : 0, CMX_MAX_EXPERTS },
		{ "experts used", h->n_used, h->n_moe ? 1 : 0,
		  h->n_expert < CMX_MAX_EXPERTS_USED ? h->n_expert : CMX_MAX_EXPERTS_USED },
		{ "vocabulary size", h->vocab, 1, 1u << 24 },
		{ "prompt length", h->n_prompt, 1, DECISIONS_MAX_POSITIONS },
		{ "output length", h->n_output, 0, DECISIONS_MAX_POSITIONS },
		{ "end reason", h->end, CMX_END_LENGTH, CMX_END_STOP },
		{ "chunk", h->chunk, 1, DECISIONS_MAX_POSITIONS },
		{ "context", h->ctx, 1, DECISIONS_MAX_POSITIONS },
		{ "all-logits flag", h->all_logits, 0, 1 },
	};

	if (memcmp(h->magic, DECISIONS_MAGIC, sizeof(h->magic)))
		return cmx_infer_fail(err, -EINVAL, "decisions: not a decisions file");
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		const struct header_field *x = &fields[i];

		if (x->val < x->min || x->val > x->max)
			return cmx_infer_fail(err, -EINVAL, "decisions: %s is %u, must be %u..%u",
					      x->name, x->val, x->min, x->max);
	}
	if (!h->n_output && h->end != CMX_END_LENGTH)
		return cmx_infer_fail(err, -EINVAL,
				      "decisions: the end reason is %u, the output length 0",
				      h->end);
	return check_sampling(h, err);
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

/* Each id and expert is used as an index later. */
static int check_values(const struct cmx_decisions *d, struct cmx_infer_err *err)
{
	uint64_t n = expert_count(d, cmx_decisions_positions(d));

	for (uint32_t i = 0; i < d->n_prompt + d->n_output; i++) {
		if (d->ids[i] >= d->vocab)
			return cmx_infer_fail(err, -EINVAL,
					      "decisions: token %u is %u, must be below %u", i,
					      d->ids[i], d->vocab);
	}
	for (uint64_t i = 0; i < n; i++) {
		if (d->experts[i] >= d->n_expert)
			return cmx_infer_fail(err, -EINVAL, "decisions: expert %u at entry %" PRIu64
					      ", must be below %u", d->experts[i], i, d->n_expert);
		for (uint64_t j = i - i % d->n_used; j < i; j++) {
			if (d->experts[j] == d->experts[i])
				return cmx_infer_fail(err, -EINVAL,
						      "decisions: expert %u at entry %" PRIu64
						      " stands twice for one token",
						      d->experts[i], i);
		}
	}
	return 0;
}

/* Before any memory is taken: the counts must agree with the file's size. */
static int check_size(const struct cmx_decisions *d, int fd, struct cmx_infer_err *err)
{
	uint64_t want = sizeof(struct decisions_header) + sizeof(uint32_t) +
			(d->n_prompt + d->n_output) * sizeof(*d->ids) +
			expert_count(d, cmx_decisions_positions(d)) * sizeof(*d->experts);
	struct stat st;

	if (fstat(fd, &st))
		return cmx_infer_fail(err, -errno, "decisions: fstat: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return cmx_infer_fail(err, -EINVAL, "decisions: not a regular file");
	if ((uint64_t)st.st_size != want)
		return cmx_infer_fail(err, -EINVAL, "decisions: the file has %" PRIu64
				      " bytes, its counts ask for %" PRIu64,
				      (uint64_t)st.st_size, want);
	return 0;
}

static int read_body(struct cmx_decisions *d, int fd, uint32_t crc, struct cmx_infer_err *err)
{
	uint64_t n = expert_count(d, cmx_decisions_positions(d));
	uint32_t want, unused = 0;
	int ret = get(fd, d->ids, (d->n_prompt + d->n_output) * sizeof(*d->ids), &crc, err);

	if (!ret)
		ret = get(fd, d->experts, n * sizeof(*d->experts), &crc, err);
	if (!ret)
		ret = get(fd, &want, sizeof(want), &unused, err);
	if (ret)
		return ret;
	if (want != crc)
		return cmx_infer_fail(err, -EINVAL, "decisions: checksum is %08x, must be %08x",
				      want, crc);
	return check_values(d, err);
}

int cmx_decisions_read(struct cmx_decisions *d, int fd, struct cmx_infer_err *err)
{
	struct decisions_header h;
	uint32_t crc = 0;
	int ret;

	memset(d, 0, sizeof(*d));
	ret = get(fd, &h, sizeof(h), &crc, err);
	if (!ret)
		ret = check_header(&h, err);
	if (ret)
		return ret;
	*d = (struct cmx_decisions){
		.n_moe = h.n_moe, .n_expert = h.n_expert, .n_used = h.n_used, .vocab = h.vocab,
		.n_prompt = h.n_prompt, .n_output = h.n_output, .end = h.end,
		.chunk = h.chunk, .ctx = h.ctx, .all_logits = h.all_logits, .top_k = h.top_k,
		.temp = h.temp, .top_p = h.top_p, .min_p = h.min_p, .penalty = h.penalty,
		.capacity = h.n_prompt + h.n_output,
	};
	ret = check_size(d, fd, err);
	if (!ret)
		ret = decisions_alloc(d, err);
	if (!ret)
		ret = read_body(d, fd, crc, err);
	if (ret)
		cmx_decisions_free(d);
	return ret;
}

int cmx_decisions_match(const struct cmx_decisions *d, const struct cmx_model_config *c,
			struct cmx_infer_err *err)
{
	if (d->n_moe == cmx_model_n_moe(c) && d->n_expert == c->n_expert &&
	    d->n_used == c->n_used && d->vocab == c->vocab)
		return 0;
	return cmx_infer_fail(err, -EINVAL,
			      "decisions: made with %u MoE layers, %u of %u experts, %u tokens; the model has %u, %u of %u, %u",
			      d->n_moe, d->n_used, d->n_expert, d->vocab, cmx_model_n_moe(c),
			      c->n_used, c->n_expert, c->vocab);
}
