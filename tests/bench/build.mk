# SPDX-License-Identifier: GPL-2.0-only
# Benches: tests/bench/bench_NAME.c becomes build/tests/bench/NAME.
BENCH_PROGS := $(patsubst tests/bench/bench_%.c,%,$(sort $(wildcard tests/bench/bench_*.c)))
BENCH_MAIN := $(BENCH_PROGS:%=$(B)/obj/tests/bench/bench_%.o)
BENCH_OBJ := $(B)/obj/tests/bench/bench.o
BENCH_BINS := $(BENCH_PROGS:%=$(B)/tests/bench/%)

$(BENCH_MAIN) $(BENCH_OBJ): CPPFLAGS += $(CMXDRV_CPPFLAGS)

$(BENCH_BINS): private LDLIBS += -L$(B)/lib -lcmxdrv
$(BENCH_BINS): $(B)/tests/bench/%: $(B)/obj/tests/bench/bench_%.o $(BENCH_OBJ) $(LIBCMXDRV_SO)
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDLIBS)

OBJS_ALL += $(BENCH_MAIN) $(BENCH_OBJ)
TESTS_ALL += $(BENCH_BINS)
