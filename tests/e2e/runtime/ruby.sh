# The provider ruby: the probes of a stock libruby, and the names of old scripts that are made of them.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
ruby=/usr/bin/ruby3.1
[ -x $ruby ] || { echo "no $ruby (package ruby3.1)"; exit 67; }
cat >t.rb <<'END'
class A
  def m(x) x + 1 end
end
def fib(n) n < 2 ? n : fib(n-1) + fib(n-2) end
fib(5); A.new.m(1)
begin; raise ArgumentError, "x"; rescue; end
[3, 1, 2].sort
GC.start
END
# Ruby 3.1's cmethod probes are left out without -x harmful (runtime/ruby_harm); a short program is not harmed by them.
# Ruby fires method-entry and method-return only while something in the program traces calls, too.
{ echo 'TracePoint.new(:call, :return) {}.enable'; cat t.rb; } >traced.rb
cat >t.d <<'END'
#pragma D option quiet
ruby$target:::function-entry, ruby$target:::function-return,
ruby$target:::method-entry, ruby$target:::cmethod-entry
/basename(copyinstr(arg2)) == $$1/
{
	@[probename, copyinstr(arg0), copyinstr(arg1), arg3] = count();
}
ruby$target:::object-create-start, ruby$target:::object-create /basename(copyinstr(arg1)) == $$1/
{
	@[probename, copyinstr(arg0), "new", arg2] = count();
}
ruby$target:::raise { @[probename, copyinstr(arg0), basename(copyinstr(arg1)), arg2] = count(); }
ruby$target:::gc-begin, ruby$target:::gc-mark-begin { @gc[probename] = count(); }
END { printa("%s %s %s %d %@d\n", @); printa("%s %@d\n", @gc); }
END
"$DTRACE" -x harmful -s t.d -c "$ruby --disable-gems traced.rb" traced.rb >out 2>err || fail "traced.rb"
grep -E ' (A|Object|Array|ArgumentError) ' out | grep -vE ' (method_added|inherited|set_encoding|exception|backtrace|respond_to) ' | sort >got
sort >want <<'END'
cmethod-entry Array sort 8 1
function-entry A m 3 1
function-entry Array sort 8 1
function-entry Object fib 5 15
function-return A m 3 1
function-return Array sort 8 1
function-return Object fib 5 15
method-entry A m 3 1
method-entry Object fib 5 15
object-create A new 6 1
object-create ArgumentError new 7 1
object-create-start A new 6 1
object-create-start ArgumentError new 7 1
raise ArgumentError traced.rb 7 1
END
diff want got || fail "other methods than the program calls"
a=$(awk '$1 == "gc-begin" { print $2 }' out) b=$(awk '$1 == "gc-mark-begin" { print $2 }' out)
[ "$a" ] && [ "$a" = "$b" ] || fail "gc-begin is not gc-mark-begin"
"$DTRACE" -x harmful -s t.d -c "$ruby --disable-gems t.rb" t.rb >out 2>err || fail "t.rb"
grep -q 'cmethod-entry Array sort 7 1' out || fail "methods in C need no TracePoint"
"$DTRACE" -n 'ruby$target:::line {}' -c "$ruby --disable-gems t.rb" >out 2>err && fail "line was found"
grep -q 'Ruby has no probe for lines' err || fail "no reason for line"
exit 0
