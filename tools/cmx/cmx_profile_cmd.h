/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What `cmx profile' prints. Both return an exit status.
 */
#ifndef CMX_PROFILE_CMD_H
#define CMX_PROFILE_CMD_H

#include <cmx/profile.h>

int cmx_profile_print_text(const struct cmx_profile *profile);
/* That @file is sound, and where its constants come from. */
int cmx_profile_print_check(const char *file, const struct cmx_profile *profile);

#endif /* CMX_PROFILE_CMD_H */
