# SPDX-License-Identifier: MIT
# Perl 5.36: its own tests of DTrace probes.
needs gcc make
source_of perl
# 5.36 asks for sub-entry or op-entry where it means the probe itself: five tests fail with any tracer.
for probe in FILE_LOADING:LOADING_FILE FILE_LOADED:LOADED_FILE PHASE:PHASE_CHANGE RETURN:SUB_RETURN; do
	sed -i "/define PERL_DTRACE_PROBE_${probe%:*}(/,/dtrace_probe/s/PERL_[A-Z]*_ENTRY_ENABLED/PERL_${probe#*:}_ENABLED/" mydtrace.h
done
# Two tests read "./run/dtrace.pl" and expect "run/dtrace.pl".
sed -i 's#<run/dtrace#<\\./run/dtrace#' t/run/dtrace.t
quiet sh Configure -des "-Dusedtrace=$work/bin/dtrace" -Doptimize=-O2
quiet make -j2 perl
quiet make lib/auto/Fcntl/Fcntl.so lib/auto/IO/IO.so lib/auto/POSIX/POSIX.so lib/auto/Socket/Socket.so lib/auto/Time/HiRes/HiRes.so
ln -sf ../perl t/perl
(cd t && timeout 300 ./perl run/dtrace.t) >"$work/perl.tests" 2>&1 || { tail -30 "$work/perl.tests"; false; }
[ "$(grep -c '^ok' "$work/perl.tests")" = 9 ] || { cat "$work/perl.tests"; false; }
described 'userland const char *,userland const char *,int,userland const char *' 'perl$target:::sub-entry' "./perl -e 1"
