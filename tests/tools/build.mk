# SPDX-License-Identifier: GPL-2.0-only
#
# Programs for the tests of the cmx command: a client with traffic, and changes of state.
TTOOLS_PROGS := traffic storm
TTOOLS_OBJS := $(TTOOLS_PROGS:%=$(B)/obj/tests/tools/%.o)
TTOOLS_BINS := $(TTOOLS_PROGS:%=$(B)/tests/tools/%)

$(TTOOLS_OBJS): CPPFLAGS += $(CMXDRV_CPPFLAGS)

$(TTOOLS_BINS): private LDLIBS += -L$(B)/lib -lcmxdrv
$(TTOOLS_BINS): $(B)/tests/tools/%: $(B)/obj/tests/tools/%.o $(LIBCMXDRV_SO)
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDLIBS)

OBJS_ALL += $(TTOOLS_OBJS)
TESTS_ALL += $(TTOOLS_BINS)
