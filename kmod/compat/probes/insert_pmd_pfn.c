// SPDX-License-Identifier: GPL-2.0-only
/* vmf_insert_pfn_pmd() takes a plain page frame number (6.17), not a pfn_t. */
#include <linux/mm.h>

vm_fault_t probe(struct vm_fault *vmf, unsigned long pfn);
vm_fault_t probe(struct vm_fault *vmf, unsigned long pfn)
{
	return vmf_insert_pfn_pmd(vmf, pfn, true);
}
