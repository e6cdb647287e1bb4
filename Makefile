# SPDX-License-Identifier: GPL-2.0-only
#
# CMX: top-level build.
#
#   make              lib, tools and tests (not the module)
#   make lib          libcmxdrv                                  (libcmxdrv/build.mk)
#   make tools        the cmx command                            (tools/build.mk)
#   make tests        unit tests, in-VM test programs, benches   (tests/build.mk)
#   make module       cmx.ko for KDIR (default: the running kernel) -> build/kmod/host/cmx.ko
#   make module-TAG   cmx.ko for one of the VM kernels, TAG one of
#                     stock uml uml-debug qemu-debug next        -> build/kmod/TAG/cmx.ko
#   make vm-TAG       everything tests/vm/run needs for that kernel (init, module)
#   make demo | shell [VM=uml] [DEBUG=1] | check | check-full | bench
#   make packages     install what the machine lacks
#   make clean        drop build/ (kernels live in a cache outside the tree and stay)
#
# Contract for the fragments
#
# Each area has one build.mk that this file includes, in this order, if it exists:
#   libcmxdrv/build.mk, tools/build.mk, tests/build.mk
# and tests/build.mk includes tests/unit/build.mk, tests/kselftest/build.mk, tests/bench/build.mk
# and tests/models/build.mk. A fragment names files relative to the top of the tree and
#   - adds what `make lib` (tools, tests) must build to LIB_ALL (TOOLS_ALL, TESTS_ALL);
#   - puts programs in $(B)/bin, test programs in $(B)/tests/<area>/, libraries in $(B)/lib
#     (pkg-config files in $(B)/lib/pkgconfig), objects in $(B)/obj/<path of the source>.o;
#   - gets objects from the pattern rule below: $(B)/obj/DIR/x.o is made from DIR/x.c, with
#     dependencies (-MMD) read back by this file for every name in OBJS_ALL, so a fragment
#     does OBJS_ALL += $(its objects). $(call objs,SOURCES) turns sources into object names;
#   - sets flags per target, e.g.  $(B)/obj/tools/%.o: CPPFLAGS += -Ilibcmxdrv/include
#     (never by changing the global CFLAGS, CPPFLAGS, LDFLAGS, LDLIBS), and those for linking with
#     "private", else the libraries a program depends on get them too when they are made for it;
#   - links with  $(LINK) -o $@ $(filter %.o,$^) $(LDLIBS)   and has targets depend on real files.
# libcmxdrv/build.mk defines LIBCMXDRV_SO ($(B)/lib/libcmxdrv.so) and LIBCMXDRV_A, which the later
# fragments may depend on. Use the rpath-free form: the runners set LD_LIBRARY_PATH.
#
# Variables
#   B            build, or build/san with SAN=1 (everything with ASan and UBSan)
#   CFLAGS       -std=gnu17 -O2 -g -Wall -Wextra -Werror -fPIC, plus the sanitizers with SAN=1;
#                EXTRA_CFLAGS of the command line goes last
#   HARNESS      order-only prerequisite of whatever includes the kernel's kselftest_harness.h:
#                    x.o: CPPFLAGS += -isystem $(HARNESS)
#                    x.o: | $(HARNESS)
#   CACHE        where kernels, packages and probe results live, outside the tree
#   V=1          show commands

ifeq ($(SAN),1)
B := build/san
else
B := build
endif
CACHE ?= $(or $(CMX_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/cmx)
export CMX_CACHE := $(CACHE)

MAKEFLAGS += --no-builtin-rules --no-print-directory
ifeq ($(filter -j% --jobserver%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif

Q := $(if $(V),,@)
say = $(if $(V),:,printf '  %-7s %s\n' $(1) $(2))

CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
CPPFLAGS := -D_GNU_SOURCE -Iuapi
CFLAGS := -std=gnu17 -O2 -g -Wall -Wextra -Werror -fPIC -fno-strict-aliasing
LDFLAGS :=
LDLIBS :=
ifeq ($(SAN),1)
CFLAGS += -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
LDFLAGS += -fsanitize=address,undefined
endif
CFLAGS += $(EXTRA_CFLAGS)

HARNESS := build/linux
LINK = $(CC) $(CFLAGS) $(LDFLAGS)
objs = $(patsubst %.c,$(B)/obj/%.o,$(1))

LIB_ALL :=
TOOLS_ALL :=
TESTS_ALL :=
OBJS_ALL :=

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all lib tools tests module packages demo shell check check-full bench clean FORCE
all:

-include libcmxdrv/build.mk
-include tools/build.mk
-include tests/build.mk

all: lib tools tests
lib: $(LIB_ALL)
tools: $(TOOLS_ALL)
tests: $(TESTS_ALL)

$(B)/obj/%.o: %.c
	@$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

-include $(OBJS_ALL:.o=.d)

# The kernel's kselftest headers, from Debian's linux-source package.
build/linux:
	@mkdir -p build
	$(Q)ln -sfn "$$(tests/vm/kernel harness)" $@

# --- the module ---------------------------------------------------------------------------------
# One copy of the sources per kernel, so that several kernels can be built side by side.
KMOD_TAGS := stock uml uml-debug qemu-debug next
KMOD_SRCS := Kbuild $(shell find kmod uapi -type f \( -name '*.[ch]' -o -name '*.mk' -o -name Kbuild \
	-o -name '*.sh' \) ! -name '*.mod.c' 2>/dev/null)
KDIR ?= /lib/modules/$(shell uname -r)/build

.PHONY: $(KMOD_TAGS:%=module-%) $(KMOD_TAGS:%=vm-%)

module: $(KMOD_SRCS)
	$(Q)tests/vm/module host "$(KDIR)"

$(KMOD_TAGS:%=module-%): module-%: build/kmod/%/cmx.ko

$(KMOD_TAGS:%=build/kmod/%/cmx.ko): build/kmod/%/cmx.ko: $(KMOD_SRCS) build/kmod/%/kernel
	$(Q)tests/vm/module $*

# The stamp names the kernel in use; it changes only when another one is chosen.
$(KMOD_TAGS:%=build/kmod/%/kernel): build/kmod/%/kernel: FORCE
	@mkdir -p $(@D)
	$(Q)k="$$(tests/vm/kernel $*)" && { [ "$$k" = "$$(cat $@ 2>/dev/null)" ] || \
		{ printf '%s\n' "$$k" >$@.tmp && mv $@.tmp $@; }; }

# --- virtual machines and the suite -------------------------------------------------------------
$(KMOD_TAGS:%=vm-%): vm-%: build/vm/init build/kmod/%/kernel

build/vm/init: tests/vm/init.c
	@$(call say,CC,$<)
	@mkdir -p $(@D)
	$(Q)$(CC) -std=gnu17 -O2 -Wall -Wextra -Werror -static -D_GNU_SOURCE -o $@ $<

# QEMU's kernels start from an initramfs: init, and the modules the shared root and cmx.ko need.
build/vm/initrd-%: build/vm/init build/kmod/%/kernel tests/vm/initrd
	@$(call say,INITRD,$*)
	$(Q)tests/vm/initrd $* $@

packages:
	$(Q)tests/vm/packages.sh

demo: packages
	$(Q)tests/vm/demo

shell: packages
	$(Q)$(MAKE) lib tools
	$(Q)tests/vm/run --vm $(or $(VM),qemu) $(if $(filter 1,$(DEBUG)),--debug) --timeout 0 --tty \
		-- bash -i || [ $$? -lt 120 ]

check: packages
	$(Q)tests/check

check-full: packages
	$(Q)tests/check --full

bench: packages
	$(Q)tests/check --only bench --full --show

clean:
	$(Q)rm -rf build
