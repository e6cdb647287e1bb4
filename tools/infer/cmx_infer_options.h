/* SPDX-License-Identifier: GPL-2.0-only */
/* Command line of `cmx infer run`. */
#ifndef CMX_INFER_OPTIONS_H
#define CMX_INFER_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cmx_chat.h"
#include "cmx_infer_err.h"
#include "cmx_option.h"
#include "cmx_stop_strings.h"

enum cmx_mtp_use {
	CMX_MTP_OFF,
	CMX_MTP_ON,
	CMX_MTP_AUTO,	/* if the model has the block */
};

struct cmx_infer_options {
	const char *model;
	const char *text;
	const char *ids;
	const char *batch;
	const char *system;
	const char *tokenizer;
	const char *stop[CMX_STOP_STRINGS_MAX];
	const char *logits;
	const char *trace;
	const char *record;
	const char *replay;
	const char *experts;
	const char *blocks;
	uint32_t n;
	uint32_t threads;
	uint32_t chunk;
	uint32_t ctx;		/* 0: as much as the run needs */
	uint32_t die;
	uint32_t ep;		/* 0: not given */
	uint32_t dp;
	uint32_t max_batch;
	uint32_t kv_pages;	/* 0: as many as the batch may need */
	uint32_t kv_page;	/* positions, a power of two */
	uint32_t n_stops;
	uint32_t top_k;
	float temp;
	float top_p;
	float min_p;
	float penalty;
	uint64_t seed;
	enum cmx_chat_form chat_form;
	enum cmx_mtp_use mtp;
	bool has_n;
	bool has_chunk;
	bool has_temp;
	bool has_top_k;
	bool has_top_p;
	bool has_min_p;
	bool has_penalty;
	bool has_max_batch;
	bool has_kv_page;
	bool has_mtp;
	bool absorb;
	bool no_reuse;
	bool chat;		/* the text is what a user says */
	bool special;		/* control tokens are found in the text */
	bool time_only;
	bool json;
	bool ignore_eos;
	bool verify;
	bool int8;		/* quantise as the model is loaded */
	bool help;
};

int cmx_infer_options_parse(struct cmx_infer_options *o, int argc, char **argv,
			    struct cmx_infer_err *err);
void cmx_infer_usage(FILE *f);
/* Token ids of a file, separated by white space; free(*ids). */
int cmx_infer_read_ids(const char *path, uint32_t **ids, uint32_t *n, struct cmx_infer_err *err);

#endif
