/* SPDX-License-Identifier: GPL-2.0-only */
/* Fixed sizes, told by CMX_INFO_LIMITS.  What a file may hold is in cmx_file.h. */
#ifndef CMX_LIMITS_H
#define CMX_LIMITS_H

#include <linux/sizes.h>

#define CMX_MAX_SLOTS		65536	/* of a queue or receive ring */
#define CMX_MAX_CQES		65536	/* of a completion ring */
#define CMX_MAX_CHUNK		SZ_2M	/* contiguous piece of a BO */

#endif
