// SPDX-License-Identifier: GPL-2.0-only
/* Arrays in user memory whose elements can grow. */
#include <linux/uaccess.h>

#include "cmx_array.h"
#include "cmx_file.h"

int cmx_array_check(struct cmx_file *file, const char *field, const struct drm_cmx_array *array,
		    size_t min)
{
	if (!array->count)
		return 0;
	if (array->stride < min)
		return cmx_refuse(file, -EINVAL, field, array->stride, min,
				  "smaller than the element's first version");
	if (array->stride > CMX_ARRAY_MAX_STRIDE)
		return cmx_refuse(file, -EINVAL, field, array->stride, CMX_ARRAY_MAX_STRIDE,
				  "larger than an element may be");
	return 0;
}

static void __user *cmx_array_element(const struct drm_cmx_array *array, u32 index)
{
	return u64_to_user_ptr(array->pointer + (u64)index * array->stride);
}

int cmx_array_get(const struct drm_cmx_array *array, u32 index, void *element, size_t size)
{
	return copy_struct_from_user(element, size, cmx_array_element(array, index),
				     array->stride);
}

int cmx_array_put(const struct drm_cmx_array *array, u32 index, const void *element, size_t size)
{
	void __user *to = cmx_array_element(array, index);
	size_t known = min_t(size_t, size, array->stride);

	if (copy_to_user(to, element, known) || clear_user(to + known, array->stride - known))
		return -EFAULT;
	return 0;
}
