/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a model's activations are like, from running it on a text: for each
 * channel of each site the mean square, which says how much an error of the
 * weights there matters, and the largest magnitude, from which smoothing factors
 * are made. Factors are powers of two, so moving them changes no bit elsewhere.
 */
#ifndef CMX_CALIBRATION_H
#define CMX_CALIBRATION_H

#include "cmx_die.h"
#include "cmx_model.h"
#include "cmx_site.h"

struct cmx_site_stats {
	uint32_t k;		/* channels */
	uint32_t n;		/* experts, else 1 */
	uint64_t *count;	/* [n] tokens seen */
	double *square;		/* [n][k] sums */
	float *max;		/* [n][k] */
	float *weight_max;	/* [n][k] of the columns of all that take it */
	float *factor;		/* [n][k] powers of two; NULL: not smoothed */
};

struct cmx_calibration {
	struct cmx_site_stats (*layer)[CMX_SITE_COUNT];	/* of the main model's layers */
	uint32_t n_layer;
	const struct cmx_model *m;
	struct cmx_die *die;
	struct cmx_infer_err *err;
};

int cmx_calibration_init(struct cmx_calibration *c, const struct cmx_model *m,
			 struct cmx_die *die, struct cmx_infer_err *err);
void cmx_calibration_fini(struct cmx_calibration *c);

/*
 * Called before each launch of the pass, with @arg the calibration: looks at the
 * inputs of products. 0 or a failure.
 */
int cmx_calibration_observe(void *arg, enum cmx_npu_id id, const void *args);

/* NULL if there is nothing known of it, as of MTP blocks. */
const struct cmx_site_stats *cmx_calibration_site(const struct cmx_calibration *c,
						  uint32_t block, enum cmx_site site);
/* Mean squares of a site's channels as its tensors see them; false if no token came by. */
bool cmx_calibration_importance(const struct cmx_site_stats *s, uint32_t expert, float *out);

/* Takes note of a row of weights that multiplies the site's values. */
void cmx_calibration_weights(struct cmx_site_stats *s, uint32_t expert, const float *row);
/*
 * Factors of all sites that have a tensor on their other side to take them:
 * activation^alpha / weight^(1 - alpha), rounded to a power of two.
 */
int cmx_calibration_smooth(struct cmx_calibration *c, float alpha);

#endif
