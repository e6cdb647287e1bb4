// SPDX-License-Identifier: GPL-2.0-only
#include "cmx_layout.h"

#include <errno.h>

int cmx_layout_init(struct cmx_layout *l, uint32_t ep, uint32_t dp,
		    const struct cmx_model_config *c, struct cmx_infer_err *err)
{
	*l = (struct cmx_layout){ .ep = ep ? ep : dp ? dp : 1 };
	l->dp = dp ? dp : l->ep;
	if (l->ep > CMX_MAX_RANKS)
		return cmx_infer_fail(err, -EINVAL, "%s is %u, must be 1..%u",
				      ep ? "--ep" : "--dp", l->ep, CMX_MAX_RANKS);
	l->tp = 1;
	if (l->dp != l->ep)
		return cmx_infer_fail(err, -EINVAL, "--dp is %u, must be %u with --ep %u", l->dp,
				      l->ep, l->ep);
	if (l->ep > 1 && !c->n_expert)
		return cmx_infer_fail(err, -EINVAL, "--ep is %u, the model has no experts", l->ep);
	return 0;
}

uint32_t cmx_layout_local(const struct cmx_layout *l, uint32_t n_expert)
{
	return (n_expert + l->ep - 1) / l->ep;
}
