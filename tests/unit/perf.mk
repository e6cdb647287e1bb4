# SPDX-License-Identifier: GPL-2.0-only
#
# Unit tests of what the cmx command's measurements are made of.
UNIT_PERF_OBJS := $(call objs,tests/unit/perf_routing.c)
UNIT_PERF_BINS := $(B)/tests/unit/perf_routing

$(UNIT_PERF_OBJS): CPPFLAGS += -Itools/cmx -isystem $(HARNESS)
$(UNIT_PERF_OBJS): | $(HARNESS)

$(UNIT_PERF_BINS): $(B)/tests/unit/%: $(B)/obj/tests/unit/%.o \
	$(B)/obj/tools/cmx/cmx_operator_routing.o
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDLIBS)

OBJS_ALL += $(UNIT_PERF_OBJS)
TESTS_ALL += $(UNIT_PERF_BINS)
