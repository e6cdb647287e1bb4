# SPDX-License-Identifier: GPL-2.0-only
#
# libcmxdrv: shared and static library, pkg-config file.

comma := ,
CMXDRV_VERSION := 1.0.0
CMXDRV_SONAME := libcmxdrv.so.1
CMXDRV_SRCS := $(sort $(wildcard libcmxdrv/src/*.c))
CMXDRV_OBJS := $(call objs,$(CMXDRV_SRCS))
CMXDRV_PC := $(B)/lib/pkgconfig/cmxdrv.pc
# What a program of the tree needs: the headers, and libdrm's drm.h.
CMXDRV_CPPFLAGS := -Ilibcmxdrv/include $(shell pkg-config --cflags libdrm 2>/dev/null || \
	echo -I/usr/include/libdrm)
CMXDRV_NL_CFLAGS := $(shell pkg-config --cflags libnl-genl-3.0 2>/dev/null || \
	echo -I/usr/include/libnl3)
CMXDRV_LIBS := -ldrm -lnl-genl-3 -lnl-3 -ljansson -ldl -lm -lpthread

LIBCMXDRV_SO := $(B)/lib/libcmxdrv.so
LIBCMXDRV_A := $(B)/lib/libcmxdrv.a

OBJS_ALL += $(CMXDRV_OBJS)
LIB_ALL += $(LIBCMXDRV_SO) $(LIBCMXDRV_A) $(CMXDRV_PC)

$(CMXDRV_OBJS): CPPFLAGS += $(CMXDRV_CPPFLAGS) $(CMXDRV_NL_CFLAGS) -DCMXDRV_VERSION='"$(CMXDRV_VERSION)"'

$(B)/lib/$(CMXDRV_SONAME): private LDLIBS += $(CMXDRV_LIBS)
$(B)/lib/$(CMXDRV_SONAME): $(CMXDRV_OBJS) libcmxdrv/libcmxdrv.map
	@$(call say,LD,$@)
	@mkdir -p $(@D)
	$(Q)$(LINK) -shared -Wl,-soname,$(CMXDRV_SONAME) $(if $(filter 1,$(SAN)),,-Wl,-z$(comma)defs) \
		-Wl,--version-script=libcmxdrv/libcmxdrv.map -o $@ $(filter %.o,$^) $(LDLIBS)

$(LIBCMXDRV_SO): $(B)/lib/$(CMXDRV_SONAME)
	$(Q)ln -sf $(CMXDRV_SONAME) $@

$(LIBCMXDRV_A): $(CMXDRV_OBJS)
	@$(call say,AR,$@)
	@mkdir -p $(@D)
	$(Q)rm -f $@ && ar rcs $@ $(filter %.o,$^)

# For use from the tree: paths from where the file itself is.
$(CMXDRV_PC): libcmxdrv/cmxdrv.pc.in libcmxdrv/build.mk
	@mkdir -p $(@D)
	$(Q)sed -e 's|@PREFIX@|$${pcfiledir}/$(if $(filter 1,$(SAN)),../../../..,../../..)|' \
		-e 's|@INCLUDEDIR@|$${prefix}/libcmxdrv/include|' \
		-e 's|@UAPIDIR@|$${prefix}/uapi|' -e 's|@LIBDIR@|$${prefix}/$(B)/lib|' \
		-e 's|@VERSION@|$(CMXDRV_VERSION)|' $< >$@
