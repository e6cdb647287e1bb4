# SPDX-License-Identifier: GPL-2.0-only
# The fabric as a whole: properties of any traffic, and changes under traffic.
FABRIC_DIR := tests/fabric
FABRIC_PROGS := $(patsubst $(FABRIC_DIR)/test_%.c,%,$(sort $(wildcard $(FABRIC_DIR)/test_*.c)))
FABRIC_SHARED := $(call objs,$(filter-out $(FABRIC_DIR)/test_%.c,$(wildcard $(FABRIC_DIR)/*.c)))
FABRIC_MAIN := $(FABRIC_PROGS:%=$(B)/obj/$(FABRIC_DIR)/test_%.o)
FABRIC_BIN := $(FABRIC_PROGS:%=$(B)/tests/fabric/%)

$(FABRIC_MAIN) $(FABRIC_SHARED): CPPFLAGS += $(CMXDRV_CPPFLAGS)
$(FABRIC_MAIN): CPPFLAGS += -isystem $(HARNESS)
$(FABRIC_MAIN): | $(HARNESS)

$(FABRIC_BIN): private LDLIBS += -L$(B)/lib -lcmxdrv -lm -lpthread
$(FABRIC_BIN): $(B)/tests/fabric/%: $(B)/obj/$(FABRIC_DIR)/test_%.o $(FABRIC_SHARED) $(LIBCMXDRV_SO)
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDLIBS)

OBJS_ALL += $(FABRIC_MAIN) $(FABRIC_SHARED)
TESTS_ALL += $(FABRIC_BIN)
