# SPDX-License-Identifier: GPL-2.0-only
#
# Unit tests in user space; each area has a fragment of its own beside this file.
include $(filter-out tests/unit/build.mk,$(sort $(wildcard tests/unit/*.mk)))
