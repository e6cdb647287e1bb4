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

# The model engine's products against the libraries people would take, which nothing else here
# is linked with.
BENCH_PRODUCTS := $(B)/tests/bench/infer_products
BENCH_PRODUCTS_OBJ := $(B)/obj/tests/bench/infer_products.o
BENCH_PRODUCTS_ENGINE := $(filter-out $(B)/obj/tools/infer/kernels/cmx_npu_entry.%, \
	$(filter $(B)/obj/tools/infer/kernels/%,$(INFER_OBJS) $(INFER_LEVEL_OBJS))) \
	$(call objs,tools/infer/cmx_tensor_type.c tools/infer/cmx_infer_err.c)

$(BENCH_PRODUCTS_OBJ): CPPFLAGS += -Itools/infer $(CMXDRV_CPPFLAGS)
$(BENCH_PRODUCTS): private LDLIBS += -lopenblas -ldnnl -lm
$(BENCH_PRODUCTS): $(BENCH_PRODUCTS_OBJ) $(BENCH_PRODUCTS_ENGINE)
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -o $@ $(filter %.o,$^) $(LDLIBS)

OBJS_ALL += $(BENCH_PRODUCTS_OBJ)
TESTS_ALL += $(BENCH_PRODUCTS)
OBJS_ALL += $(BENCH_MAIN) $(BENCH_OBJ)
TESTS_ALL += $(BENCH_BINS)
