# The provider perl over functions of a stock /usr/bin/perl, which has no probes of its own: names, places, counts, all processes.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
[ -x /usr/bin/perl ] || { echo "no /usr/bin/perl (package perl)"; exit 67; }
/usr/bin/perl -MConfig -e 'exit !($Config{useithreads} && $] >= 5.036)' || { echo "this perl has no threads, or is older than 5.36"; exit 67; }
cat >inc.pl <<'END'
sub inc { 1 } inc(); 1;
END
cat >t.pl <<'END'
package Foo;
sub bar { my $x = shift; return $x + 1 }
package main;
sub fib { my $n = shift; return $n < 2 ? $n : fib($n-1) + fib($n-2) }
sub value :lvalue { my $z; $z }
sub fails { die "x" }
sub gone { goto &fib }
sub DESTROY { 1 }
sub AUTOLOAD { 2 }
sub by_value { $b <=> $a }
sub empty {}
sub ctx { return wantarray }
fib(5);
Foo::bar(3); Foo->bar; &{"fib"}(0); (sub { 7 })->();
value() = 3; eval { fails() }; gone(1); { my $o = bless {}; } nosuch(1);
my @s = sort by_value 1, 2, 3; my @c = ctx(); empty();
require "./inc.pl"; require "./inc.pl"; eval 'sub late { 3 } late()';
print lc("DONE"), "\n";
END
cat >sub.d <<'END'
#pragma D option quiet
perl$target:::sub-entry, perl$target:::sub-return
{
	@[probename, copyinstr(arg0), arg1 ? basename(copyinstr(arg1)) : "-", arg2, arg3 ? copyinstr(arg3) : "-"] = count();
}
perl$target:::loading-file
{
	printf("loading %s\n", copyinstr(arg0));
}
END { printa("%s %s %s:%d %s %@d\n", @); }
END
"$DTRACE" -s sub.d -c '/usr/bin/perl t.pl' >out 2>err || fail "the script failed"
LC_ALL=C sort out | grep . >got
LC_ALL=C sort >want <<'END'
done
loading ./inc.pl
sub-entry AUTOLOAD t.pl:9 main 1
sub-entry DESTROY t.pl:8 main 1
sub-entry __ANON__ t.pl:14 main 1
sub-entry bar t.pl:2 Foo 2
sub-entry ctx t.pl:12 main 1
sub-entry empty t.pl:11 main 1
sub-entry fails t.pl:6 main 1
sub-entry fib t.pl:4 main 16
sub-entry gone t.pl:7 main 1
sub-entry inc inc.pl:1 main 1
sub-entry late (eval 1):1 main 1
sub-entry value t.pl:5 main 1
sub-return AUTOLOAD t.pl:9 main 1
sub-return DESTROY t.pl:8 main 1
sub-return __ANON__ t.pl:14 main 1
sub-return bar t.pl:2 Foo 2
sub-return ctx t.pl:12 main 1
sub-return empty t.pl:11 main 1
sub-return fib t.pl:4 main 17
sub-return inc inc.pl:1 main 1
sub-return late (eval 1):1 main 1
sub-return value t.pl:5 main 1
END
diff want got || fail "other subs than the program calls"

# the list has each probe once, as if the program had it; args[] are typed
"$DTRACE" -ln 'perl$target:::' -c '/usr/bin/perl -e 1' 2>err | awk 'NR > 1 { print $3, $4, $5 }' >out
cat >want <<'END'
perl Perl_pp_entersub sub-entry
perl Perl_pp_leavesub sub-return
perl Perl_pp_leavesublv sub-return
perl Perl_lex_start loading-file
END
diff want out || fail "listing"
echo 'sub one { 1 } one()' >one.pl
"$DTRACE" -qn 'perl$target:::sub-entry { printf("%s %d %s\n", stringof(args[0]), args[2], stringof(args[3])); }' \
	-c '/usr/bin/perl one.pl' >out 2>err || fail "args[] are not typed"
[ "$(cat out)" = "one 1 main" ] || fail "args[]"

# a pattern means all processes; the provider's name has the process id
cat >loop.pl <<'END'
sub work { select(undef, undef, undef, 0.01); } $| = 1; print "ready\n"; work() while 1;
END
/usr/bin/perl loop.pl >one & one=$!
/usr/bin/perl loop.pl >two & two=$!
trap 'kill $one $two 2>/dev/null' EXIT
while [ ! -s one ] || [ ! -s two ]; do sleep 0.01; done
"$DTRACE" -qn "perl*:::sub-entry /pid == $one || pid == $two/ { @[probeprov, copyinstr(arg0)] = count(); }
	perl*:::sub-entry /pid == $one/ { one = 1; } perl*:::sub-entry /pid == $two/ { two = 1; }
	tick-50ms /one && two/ { printa(\"%s %s\\n\", @); exit(0); }" >out 2>err || fail "the pattern failed"
printf 'perl%d work\nperl%d work\n' $one $two | sort >want
grep . out | sort | diff want - || fail "not both processes"

# what this perl cannot have is said with the reason
"$DTRACE" -n "perl$one:::op-entry {}" >out 2>err && fail "op-entry was found"
grep -q 'no function that runs once for each operation' err || fail "no reason for op-entry"
"$DTRACE" -n "perl$$:::sub-entry {}" >out 2>err && fail "a shell has perl's probes"
grep -q "made of the function 'Perl_pp_entersub' of a file 'perl'" err || fail "no reason for another program"
"$DTRACE" -n 'perl:::sub-entry {}' >out 2>err && fail "a provider without a process was found"
grep -q 'perl$target, or perl\* for all' err || fail "no hint for a name without a number"
"$DTRACE" -n "perl$one:::sub-entri {}" >out 2>err && fail "a probe without a declaration was found"
grep -q "did you mean .sub-entry" err || fail "no hint"
exit 0
