# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the library against the module, for the test machines.
TLIB_PROGS := $(patsubst tests/lib/test_%.c,%,$(sort $(wildcard tests/lib/test_*.c)))
TLIB_BED := $(patsubst %,$(B)/obj/tests/lib/%.o,bed group haul party)
TLIB_OBJS := $(TLIB_PROGS:%=$(B)/obj/tests/lib/test_%.o)
TLIB_BINS := $(TLIB_PROGS:%=$(B)/tests/lib/%)
TLIB_EXAMPLE := $(B)/tests/lib/example

$(TLIB_OBJS) $(TLIB_BED): CPPFLAGS += $(CMXDRV_CPPFLAGS) -isystem $(HARNESS)
$(TLIB_OBJS) $(TLIB_BED): | $(HARNESS)
$(B)/obj/docs/example.o: CPPFLAGS += $(CMXDRV_CPPFLAGS)

$(TLIB_BINS): private LDLIBS += -L$(B)/lib -lcmxdrv -lm -lpthread
$(TLIB_BINS): $(B)/tests/lib/%: $(B)/obj/tests/lib/test_%.o $(TLIB_BED) $(LIBCMXDRV_SO)
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDLIBS)

# As its own comment says it is built: by pkg-config alone.
$(TLIB_EXAMPLE): docs/example.c $(LIBCMXDRV_SO) $(CMXDRV_PC)
	@$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)PKG_CONFIG_PATH=$(B)/lib/pkgconfig sh -c \
		'$(CC) -std=c17 -Wall -Wextra -Werror -pedantic -o $@ $< $$(pkg-config --cflags --libs cmxdrv)'

OBJS_ALL += $(TLIB_OBJS) $(TLIB_BED)
TESTS_ALL += $(TLIB_BINS) $(TLIB_EXAMPLE)
