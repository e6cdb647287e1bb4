# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the netlink family for the test machines: those on the bare socket are linked with raw.o,
# those of the library with it.
TNL_PROGS := $(patsubst tests/netlink/test_%.c,%,$(sort $(wildcard tests/netlink/test_*.c)))
TNL_SHARED := $(B)/obj/tests/netlink/raw.o
TNL_OBJS := $(TNL_PROGS:%=$(B)/obj/tests/netlink/test_%.o)
TNL_BINS := $(TNL_PROGS:%=$(B)/tests/netlink/%)

$(TNL_OBJS) $(TNL_SHARED): CPPFLAGS += $(CMXDRV_CPPFLAGS) -isystem $(HARNESS)
$(TNL_OBJS) $(TNL_SHARED): | $(HARNESS)

$(TNL_BINS): private LDLIBS += -L$(B)/lib -lcmxdrv -lpthread
$(TNL_BINS): $(B)/tests/netlink/%: $(B)/obj/tests/netlink/test_%.o $(TNL_SHARED) $(LIBCMXDRV_SO)
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDLIBS)

OBJS_ALL += $(TNL_OBJS) $(TNL_SHARED)
TESTS_ALL += $(TNL_BINS)
