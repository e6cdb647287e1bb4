/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Events as lines.
 */
#ifndef CMX_MONITOR_H
#define CMX_MONITOR_H

#include "cmx_snapshot.h"

/* @shape: machine and links, to call parts by name. Both return an exit status. */
int cmx_monitor_print_text(const struct cmx_snapshot *shape, const struct cmx_fabric_event *event);
int cmx_monitor_print_json(const struct cmx_snapshot *shape, const struct cmx_fabric_event *event);

#endif /* CMX_MONITOR_H */
