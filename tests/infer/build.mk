# SPDX-License-Identifier: GPL-2.0-only
#
# Checks of `cmx infer` in the test machines.
INFER_CHECK_OBJS := $(call objs,tests/infer/ref_check.c)
INFER_CHECK_BIN := $(B)/tests/infer/ref_check

$(INFER_CHECK_BIN): private LDLIBS += -ljansson -lm
$(INFER_CHECK_BIN): $(INFER_CHECK_OBJS)
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDLIBS)

OBJS_ALL += $(INFER_CHECK_OBJS)
TESTS_ALL += $(INFER_CHECK_BIN)
