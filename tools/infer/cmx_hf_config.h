/* SPDX-License-Identifier: GPL-2.0-only */
/* Hyper-parameters out of a config.json of DeepSeek-V2, V2-Lite, V3 or R1, checked. */
#ifndef CMX_HF_CONFIG_H
#define CMX_HF_CONFIG_H

#include <jansson.h>

#include "cmx_model_config.h"

/* Width and height of the parts of a matrix that share an FP8 scale. */
#define CMX_FP8_BLOCK 128u

/* What the weights are besides plain numbers. */
struct cmx_hf_quant {
	bool fp8;	/* matrices may be F8_E4M3 with a weight_scale_inv */
};

/*
 * Every field that changes the arithmetic is read and must have a value that
 * the engine implements; errors name the field, its value and what it may be.
 */
int cmx_hf_config_read(const json_t *root, struct cmx_model_config *c, struct cmx_hf_quant *q,
		       struct cmx_infer_err *err);

#endif
