# SPDX-License-Identifier: MIT
require 'mkmf'

lib = [File.expand_path('libusdt', __dir__), File.expand_path('../../../../lib/usdt', __dir__)].find { |d| File.exist?("#{d}/usdt.h") }
abort 'the sources of libusdt are missing' unless lib
$srcs = ['usdt.c'] + Dir["#{lib}/*.c"].map { |f| File.basename(f) }
$VPATH << lib
$CFLAGS += ' -std=gnu17 -D_GNU_SOURCE -fvisibility=hidden'
$INCFLAGS += " -I#{lib}"
$LDFLAGS += ' -pthread -Wl,-z,nodelete -Wl,-Bsymbolic'
create_makefile('usdt')
