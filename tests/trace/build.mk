# SPDX-License-Identifier: GPL-2.0-only
# What `cmx trace' is shown.
TRACE_OBJ := $(B)/obj/tests/trace/traffic.o
TRACE_BIN := $(B)/tests/trace/traffic

$(TRACE_OBJ): CPPFLAGS += $(CMXDRV_CPPFLAGS)
$(TRACE_BIN): private LDLIBS += -L$(B)/lib -lcmxdrv
$(TRACE_BIN): $(TRACE_OBJ) $(LIBCMXDRV_SO)
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDLIBS)

OBJS_ALL += $(TRACE_OBJ)
TESTS_ALL += $(TRACE_BIN)
