# SPDX-License-Identifier: GPL-2.0-only
#
# Unit tests of the library: linked statically, so that they reach its inside, and with a
# drmIoctl() of their own where a device would be.
UNIT_LIB_PROGS := $(patsubst tests/unit/%.c,%,$(sort $(wildcard tests/unit/lib_*.c)))
UNIT_LIB_FAKE := $(B)/obj/tests/unit/fake_module.o
UNIT_LIB_OBJS := $(UNIT_LIB_PROGS:%=$(B)/obj/tests/unit/%.o) $(UNIT_LIB_FAKE)
UNIT_LIB_BINS := $(UNIT_LIB_PROGS:%=$(B)/tests/unit/%)
UNIT_LIB_KERNELS := $(B)/tests/unit/kernels_good.so $(B)/tests/unit/kernels_bad.so

$(UNIT_LIB_OBJS): CPPFLAGS += $(CMXDRV_CPPFLAGS) -Ilibcmxdrv/src -isystem $(HARNESS)
$(UNIT_LIB_OBJS): | $(HARNESS)

$(UNIT_LIB_BINS): private LDLIBS += $(CMXDRV_LIBS)
$(UNIT_LIB_BINS): $(B)/tests/unit/%: $(B)/obj/tests/unit/%.o $(UNIT_LIB_FAKE) $(LIBCMXDRV_A)
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -rdynamic -o $@ $(filter %.o,$^) $(LIBCMXDRV_A) $(LDLIBS)

# Kernels as a user's shared object; the bad one has a kernel without a function.
$(B)/obj/tests/unit/kernels_%.o: CPPFLAGS += $(CMXDRV_CPPFLAGS)
$(UNIT_LIB_KERNELS): $(B)/tests/unit/%.so: $(B)/obj/tests/unit/%.o
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared -o $@ $<

OBJS_ALL += $(UNIT_LIB_OBJS) $(UNIT_LIB_KERNELS:$(B)/tests/unit/%.so=$(B)/obj/tests/unit/%.o)
TESTS_ALL += $(UNIT_LIB_BINS) $(UNIT_LIB_KERNELS)
