# SPDX-License-Identifier: GPL-2.0-only
# The wake protocol of the rings, in user space.
UNIT_RING_OBJS := $(B)/obj/tests/unit/ring_wakeup.o

$(UNIT_RING_OBJS): CPPFLAGS += -isystem $(HARNESS)
$(UNIT_RING_OBJS): | $(HARNESS)

$(B)/tests/unit/ring_wakeup: $(UNIT_RING_OBJS)
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDLIBS) -pthread

OBJS_ALL += $(UNIT_RING_OBJS)
TESTS_ALL += $(B)/tests/unit/ring_wakeup
