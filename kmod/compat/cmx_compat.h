/* SPDX-License-Identifier: GPL-2.0-only */
/* What differs between the kernels this module builds on; HAVE_* come from probes/. */
#ifndef CMX_COMPAT_H
#define CMX_COMPAT_H

#include <linux/mm.h>
#include <linux/module.h>

#include "cmx_config.h"

#ifndef HAVE_INSERT_PMD_PFN
#include <linux/pfn_t.h>
#endif

/*
 * User Mode Linux maps a clean page read-only and takes a second fault to mark it dirty;
 * where dirty and accessed are bits of the protection, pages go in with both set.  Only
 * together with the write bit: x86 reads dirty without write as a shadow stack.
 */
static inline vm_fault_t cmx_insert_pfn(struct vm_area_struct *vma, unsigned long address,
					unsigned long pfn)
{
	pgprot_t prot = vma->vm_page_prot;

#if defined(_PAGE_RW) && defined(_PAGE_DIRTY) && defined(_PAGE_ACCESSED)
	if (pgprot_val(prot) & _PAGE_RW)
		prot = __pgprot(pgprot_val(prot) | _PAGE_DIRTY | _PAGE_ACCESSED);
#endif
	return vmf_insert_pfn_prot(vma, address, pfn, prot);
}

#ifdef CONFIG_TRANSPARENT_HUGEPAGE
static inline vm_fault_t cmx_insert_pmd(struct vm_fault *vmf, unsigned long pfn, bool write)
{
#ifdef HAVE_INSERT_PMD_PFN
	return vmf_insert_pfn_pmd(vmf, pfn, write);
#else
	return vmf_insert_pfn_pmd(vmf, pfn_to_pfn_t(pfn), write);
#endif
}
#endif

#ifdef HAVE_IMPORT_NS_TOKEN
#define CMX_IMPORT_NS(ns)	MODULE_IMPORT_NS(ns)
#else
#define CMX_IMPORT_NS(ns)	MODULE_IMPORT_NS(#ns)
#endif

#endif
