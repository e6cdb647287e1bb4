# SPDX-License-Identifier: GPL-2.0-only
#
# Checks of `cmx infer` in the test machines.
INFER_CHECK_PROGS := ref_check f64_logits peak_memory
INFER_CHECK_OBJS := $(call objs,$(INFER_CHECK_PROGS:%=tests/infer/%.c))
INFER_CHECK_BINS := $(INFER_CHECK_PROGS:%=$(B)/tests/infer/%)

$(INFER_CHECK_OBJS): CPPFLAGS += -Itests/models
$(B)/tests/infer/f64_logits: $(filter-out %/cmx_tinymoe.o,$(TINYMOE_OBJS))
$(INFER_CHECK_BINS): private LDLIBS += -ljansson -lm
$(INFER_CHECK_BINS): $(B)/tests/infer/%: $(B)/obj/tests/infer/%.o
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDLIBS)

OBJS_ALL += $(INFER_CHECK_OBJS)
TESTS_ALL += $(INFER_CHECK_BINS)
