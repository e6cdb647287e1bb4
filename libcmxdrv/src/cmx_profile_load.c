// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmx_fabric_priv.h"
#include "cmx_fail.h"
#include "cmx_profile_priv.h"

static int take_profile(const struct cmx_nl_answer *answer, void *arg)
{
	struct cmx_profile *profile = arg;

	cmx_nl_text(profile->name, sizeof(profile->name), answer->attrs[CMX_A_PROFILE_NAME]);
	for (size_t i = 0; i < CMX_PROFILE_COUNT; i++) {
		const struct nlattr *attr = answer->attrs[cmx_profile_attr(i)];

		if (!attr || nla_len(attr) < (int)sizeof(uint64_t))
			return cmx_fail(-EPROTO, NULL, i, 0,
					"the module is older: it has no %s",
					cmx_profile_attr_name(cmx_profile_attr(i)));
		memcpy(&profile->rows[i].value, nla_data(attr), sizeof(uint64_t));
	}
	return 0;
}

int cmx_profile_current(struct cmx_fabric *fabric, struct cmx_profile **out)
{
	struct cmx_profile *profile = cmx_profile_alloc();
	struct nl_msg *msg;
	int ret;

	if (!profile)
		return cmx_fail_call(-ENOMEM, "cmx_profile_current");
	msg = cmx_fabric_request(fabric, CMX_CMD_PROFILE_GET, NLM_F_ACK);
	ret = msg ? cmx_fabric_call(fabric, msg, CMX_A_PROFILE_MAX, take_profile, profile) :
		    -ENOMEM;
	if (ret) {
		cmx_profile_free(profile);
		return ret;
	}
	*out = profile;
	return 0;
}

static int put_profile(struct nl_msg *msg, const struct cmx_profile *profile, uint32_t nodes)
{
	int ret = nla_put_string(msg, CMX_A_PROFILE_NAME, profile->name);

	if (!ret)
		ret = nla_put_u32(msg, CMX_A_PROFILE_USE_NODES, nodes);
	for (size_t i = 0; !ret && i < CMX_PROFILE_COUNT; i++)
		ret = nla_put_u64(msg, cmx_profile_attr(i), profile->rows[i].value);
	return ret;
}

int cmx_profile_load(struct cmx_fabric *fabric, const struct cmx_profile *profile, uint32_t nodes)
{
	struct nl_msg *msg = cmx_fabric_request(fabric, CMX_CMD_PROFILE_SET, NLM_F_ACK);

	if (!msg)
		return -ENOMEM;
	if (put_profile(msg, profile, nodes)) {
		nlmsg_free(msg);
		return cmx_fail_call(-ENOMEM, "cmx_profile_load");
	}
	return cmx_fabric_call(fabric, msg, 0, NULL, NULL);
}
