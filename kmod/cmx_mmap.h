/* SPDX-License-Identifier: GPL-2.0-only */
/* mmap() of the device node. */
#ifndef CMX_MMAP_H
#define CMX_MMAP_H

struct file;
struct vm_area_struct;

int cmx_mmap(struct file *filp, struct vm_area_struct *vma);

#endif
