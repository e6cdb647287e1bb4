# SPDX-License-Identifier: GPL-2.0-only
#
# Writer of the random-weight test models.
TINYMOE_OBJS := $(call objs,$(sort $(wildcard tests/models/*.c)))
TINYMOE_BIN := $(B)/tests/models/cmx_tinymoe

# One rounding per operation, as the weights are defined.
$(TINYMOE_OBJS): CFLAGS += -ffp-contract=off
$(TINYMOE_BIN): private LDLIBS += -lm
$(TINYMOE_BIN): $(TINYMOE_OBJS)
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDLIBS)

OBJS_ALL += $(TINYMOE_OBJS)
TESTS_ALL += $(TINYMOE_BIN)
