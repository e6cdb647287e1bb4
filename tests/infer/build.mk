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

# The engine itself, on the die that stands in for one in unit tests.
INFER_SHARES := $(B)/tests/infer/draft_shares
INFER_SHARES_OBJ := $(B)/obj/tests/infer/draft_shares.o

$(INFER_SHARES_OBJ): CPPFLAGS += $(CMXDRV_CPPFLAGS) -Itools/infer -Itests/models -Itests/unit
$(INFER_SHARES): private LDLIBS += -ljansson -lm
$(INFER_SHARES): $(INFER_SHARES_OBJ) $(UNIT_INFER_HELP) $(UNIT_INFER_ENGINE) $(UNIT_INFER_MODELS)
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDLIBS)

OBJS_ALL += $(INFER_CHECK_OBJS) $(INFER_SHARES_OBJ)
TESTS_ALL += $(INFER_CHECK_BINS) $(INFER_SHARES)
