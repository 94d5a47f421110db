# SPDX-License-Identifier: MIT
# Ruby 3.1: its own tests of DTrace probes.
needs gcc make
source_of ruby3.1
quiet ./configure --enable-dtrace --disable-install-doc --without-gmp --disable-shared "--with-out-ext=*"
quiet make -j2 ruby
# The tests want stap on Linux; and three of them call a method that Ruby has no more.
sed -i 's#RUBY_PLATFORM =~ /linux/#false#' test/dtrace/helper.rb
sed -i 's/__enable(nil, nil, Thread.current)/enable(target_thread: Thread.current)/' test/dtrace/*.rb
rm test/dtrace/test_method_cache.rb # its probe is in no source file of Ruby 3.1
mv miniruby miniruby.away
timeout 300 ./ruby -I lib -I . -I tool/lib --disable=gems tool/test/runner.rb --ruby="$PWD/ruby" test/dtrace >"$work/ruby.tests" 2>&1 || { tail -40 "$work/ruby.tests"; false; }
grep -qE '^2[0-9] tests, .* 0 failures, 0 errors, 0 skips' "$work/ruby.tests" || { tail -5 "$work/ruby.tests"; false; }
described 'userland const char *,userland const char *,userland const char *,int' 'ruby$target:::method-entry' "./ruby --disable=gems -e 1"
