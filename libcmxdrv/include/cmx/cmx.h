/* SPDX-License-Identifier: MIT */
/*
 * libcmxdrv: programs for a CMX virtual supernode.
 */
#ifndef CMX_CMX_H
#define CMX_CMX_H

#include <cmx/ccl.h>
#include <cmx/context.h>
#include <cmx/cq.h>
#include <cmx/device.h>
#include <cmx/ep.h>
#include <cmx/error.h>
#include <cmx/fabric.h>
#include <cmx/kernel.h>
#include <cmx/memory.h>
#include <cmx/profile.h>
#include <cmx/queue.h>
#include <cmx/rq.h>
#include <cmx/runner.h>
#include <cmx/timeline.h>
#include <cmx/wait.h>

#endif /* CMX_CMX_H */
