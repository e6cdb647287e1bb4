/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The netlink family without a library: messages byte by byte, so that they can be wrong.
 */
#ifndef RAW_H
#define RAW_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/genetlink.h>
#include <linux/netlink.h>

#include <cmx_netlink.h>

/* A socket, and what the module said last. */
struct raw {
	int fd;
	uint16_t family;
	uint32_t seq;
	/* Messages of the last call before its end, and whether they were marked interrupted. */
	uint32_t messages;
	bool interrupted;
	/* Text of the last refusal, or empty; the attribute it names as missing, or 0. */
	char text[256];
	uint32_t missing;
};

/* A request that grows. */
struct raw_request {
	struct nlmsghdr hdr;
	struct genlmsghdr genl;
	uint8_t attrs[8192];
};

/* 0 or -errno; -ENOENT: the module is not there. */
int raw_open(struct raw *raw);
void raw_close(struct raw *raw);

void raw_begin(struct raw *raw, struct raw_request *req, uint8_t cmd, uint16_t flags);
void raw_put(struct raw_request *req, uint16_t type, const void *data, uint16_t len);
void raw_put_u32(struct raw_request *req, uint16_t type, uint32_t value);
void raw_put_u64(struct raw_request *req, uint16_t type, uint64_t value);

/* What to do with each message of an answer: its attributes. */
typedef void (*raw_take_t)(const struct nlattr *attrs, int len, void *arg);

/* Send; 0 or -errno of the send itself. */
int raw_send(struct raw *raw, const struct raw_request *req);
/* Read one datagram; 1: more to come, 0: the end, or the module's -errno. */
int raw_read(struct raw *raw, raw_take_t take, void *arg);
/* Both, to the end. */
int raw_call(struct raw *raw, const struct raw_request *req, raw_take_t take, void *arg);

/* An attribute's value, or @otherwise when it is not there. */
uint64_t raw_get(const struct nlattr *attrs, int len, uint16_t type, uint64_t otherwise);

/* A number of the machine, or UINT64_MAX. */
uint64_t raw_machine(struct raw *raw, uint16_t type);

/* Change a part: 0 or -errno. */
int raw_set(struct raw *raw, uint8_t cmd, uint32_t index, uint32_t up);

/* Start profile-set with the constants the machine has now; @name, @nodes: 0 all. */
int raw_profile(struct raw *raw, struct raw_request *req, const char *name, uint32_t nodes);
/* Find attribute @type of a request, to overwrite or remove it. */
struct nlattr *raw_find(struct raw_request *req, uint16_t type);
void raw_remove(struct raw_request *req, uint16_t type);

uint32_t raw_random(uint32_t *state);

#endif /* RAW_H */
