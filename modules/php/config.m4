dnl SPDX-License-Identifier: MIT
PHP_ARG_ENABLE([usdt], [whether to enable usdt], [AS_HELP_STRING([--enable-usdt], [DTrace probes made at run time])], [yes])

if test "$PHP_USDT" != "no"; then
  usdt_dir=$(cd "$ext_srcdir" && pwd)
  if test -d "$usdt_dir/../../lib/usdt"; then
    mkdir -p "$usdt_dir/libusdt"
    cp "$usdt_dir"/../../lib/usdt/*.[[ch]] "$usdt_dir/libusdt"
  fi
  usdt_sources="usdt_php.c $(cd "$usdt_dir" && echo libusdt/*.c)"
  PHP_NEW_EXTENSION(usdt, $usdt_sources, $ext_shared,, [-std=gnu17 -D_GNU_SOURCE -fvisibility=hidden -I@ext_srcdir@/libusdt])
  PHP_ADD_BUILD_DIR($ext_builddir/libusdt)
  LDFLAGS="$LDFLAGS -pthread -Wl,-z,nodelete -Wl,-Bsymbolic"
fi
