# Ruby 3.0, 3.1 and 3.3 read freed memory while cmethod-* are enabled: these are left out, and the row of the table that says so is right.
fail() { echo "$1"; cat "$TMP/out" "$TMP/err" 2>/dev/null; exit 1; }
cd "$TMP" || exit 1
ruby=/usr/bin/ruby3.1
[ -x $ruby ] || { echo "no $ruby (package ruby3.1)"; exit 67; }
# alias and -> call methods of RubyVM::FrozenCore. The name of that class is collected by GC.start, and strings take its place.
cat >t.rb <<'END'
class K; def a; end; end
20.times do |i|
  GC.start
  kept = (1..30000).map { "x" * (i + 3) }
  class K; alias b a; end
  -> { 1 }.call
  kept.clear
end
puts "done"
END
cat >core.d <<'END'
#pragma D option quiet
ruby$target:::cmethod-entry
/copyinstr(arg1) == "core#set_method_alias" || copyinstr(arg1) == "lambda"/
{
	@[copyinstr(arg0)] = count();
}
END { printa("class %s\n", @); }
END
# Whether the harm is still there: the class of these methods has other names than its own and Kernel's, or Ruby has died.
"$DTRACE" -x harmful -s core.d -c "$ruby --disable-gems t.rb" >out 2>err || fail "-x harmful"
if grep -q done out && ! grep -a '^class' out | grep -qavE '^class (RubyVM::FrozenCore|Kernel)$'; then
	fail "this Ruby names the class well: the row of dlib/harmful.d is wrong about it"
fi
left="the probes ruby\\*:::cmethod-\\* of 'libruby-3.1.*' are left out: .*; -x harmful enables them"
for probe in function-entry '*method-*' 'gc-*'; do
	"$DTRACE" -qn 'ruby$target:::'"$probe"' { @[probename] = count(); }' -c "$ruby --disable-gems t.rb" >out 2>err || fail "$probe"
	grep -q done out || fail "$probe: Ruby has not come to its end"
	grep -q cmethod- out && fail "$probe: a probe that harms is enabled"
	case $probe in
	gc-*) grep -q "$left" err && fail "a message about probes that nobody asks for" ;;
	*) [ "$(grep -c "$left" err)" = 1 ] || fail "$probe: no message, or several" ;;
	esac
done
"$DTRACE" -n 'ruby$target:::cmethod-return {}' -c "$ruby --disable-gems t.rb" >out 2>err && fail "cmethod-return alone is no error"
grep -q "hint: it is left out for 'libruby-3.1.*': .*freed memory.*; -x harmful enables it" err || fail "no reason for cmethod-return"
exit 0
