/* SPDX-License-Identifier: GPL-2.0-only */
/* One event after another: the discrete-event loop of a timeline. */
#ifndef CMX_STEP_H
#define CMX_STEP_H

struct cmx_actor;
struct cmx_member;

/** enum cmx_step - what a slice came to. */
enum cmx_step {
	CMX_STEP_MORE,		/* the slice is used up, or the actor is released */
	CMX_STEP_BLOCKED,	/* this thread can do nothing until something changes */
};

/*
 * cmx_member_slice() - carry out a bounded number of events in the calling thread.
 * @member: only its commands are carried out
 * @actor: return early when its wait is over; may be NULL
 *
 * The timeline's lock is held.
 * Return: enum cmx_step, or -ENOMEM: nothing is lost, may be tried again.
 */
int cmx_member_slice(struct cmx_member *member, struct cmx_actor *actor);

#endif
