# Functions of C++ and Rust: patterns match what programmers write, listings and probefunc show it, an option shows what is linked.
# @@foreign
command -v g++ >/dev/null || exit 67
set -e
cd "$TMP"
bad=0
# pair<int, int>, a pair of two of them, of two of those, ...: 2^60 words
bomb=$(awk 'BEGIN { digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"; s = "_Z4bombSt4pairIiiE"
	for (i = 0; i < 59; i++) { n = (i >= 36 ? "1" : "") substr(digits, i % 36 + 1, 1); s = s "S_IS" n "_S" n "_E" }
	print s }')
g++ -O1 -o shop -DBOMB="\"$bomb\"" "$SRC/tests/e2e/pid/mangled.cc"
objcopy --redefine-sym stall_control="$(printf '_ZN5stall4\033[2JEv')" shop
list() { # DESCRIPTION WANT [OPTION...]
	desc=$1 want=$2
	shift 2
	got=$("$DTRACE" -l "$@" -n "$desc" -c ./shop 2>err | awk 'NR > 1' | cut -c 36- | sed 's/^ *//; s/std::__cxx11::.* const&)/string)/')
	[ "$got" = "$want" ] || { echo "$desc $*: got"; echo "$got"; cat err; echo want; echo "$want"; bad=1; }
}
list 'pid$target:a.out:shop*:entry' 'shop::(anonymous namespace)::hidden(int) entry
shop::Order::Order(int) entry
shop::Order::price(int) const entry
shop::Order::price(string) const entry
shop::Order::operator()(int) const entry
shop::tmpl<int>(int, int) entry
shop::tmpl<double>(double, double) entry'
list 'pid$target:a.out:shop*tmpl*:entry' 'shop::tmpl<int>(int, int) entry
shop::tmpl<double>(double, double) entry'
list 'pid$target:a.out:shop*tmpl*:entry' '_ZN4shop4tmplIiEET_S1_S1_ entry
_ZN4shop4tmplIdEET_S1_S1_ entry' -x demangle=off
list 'pid$target:a.out:shop??Order??price:entry' 'shop::Order::price(int) const entry
shop::Order::price(string) const entry'
list 'pid$target:a.out:_ZNK4shop5Order5priceEi:entry' 'shop::Order::price(int) const entry'
list 'pid$target:libstdc*:operator new:entry' "$("$DTRACE" -ln 'pid$target:libstdc*:operator?new:entry' -c ./shop | awk 'NR > 1' | cut -c 36- | sed 's/^ *//')"
"$DTRACE" -ln 'pid$target:libstdc*:operator new:entry' -c ./shop | grep -q ' operator new(unsigned long) entry$' || { echo 'operator new'; bad=1; }
"$DTRACE" -ln 'pid$target:libstdc*:operator delete:entry' -c ./shop | grep -q ' operator delete(void\*) entry$' || { echo 'operator delete'; bad=1; }
# Rust's two schemes; instances of one function are probes of their own
list 'pid$target:a.out:stall*generic:entry' 'stall::generic entry
stall::generic entry'
list 'pid$target:a.out:stall*boxed*:entry' 'stall::boxed::<i32> entry'

# hostile: a text without end, one that a terminal would obey
list 'pid$target:a.out:bomb:entry' "$bomb entry"
list 'pid$target:a.out:*5stall4*:entry' 'stall::?[2J() entry'

# while tracing
cat >script.d <<'X2'
pid$target:a.out:shop*tmpl*:entry, pid$target:a.out:stall*generic:entry { @[probefunc] = count(); }
pid$target:a.out:shop*Order*price:entry /probefunc == "shop::Order::price(int) const"/ { printf("%s %d\n", probefunc, arg1); ustack(1); }
END { printa("%s %@d\n", @); }
X2
cat >want <<'X2'
shop::Order::price(int) const 3
              shop`shop::Order::price(int) const
shop::tmpl<double>(double, double) 1
shop::tmpl<int>(int, int) 1
stall::generic 2
X2
"$DTRACE" -q -c ./shop -s script.d | sed '/^$/d' >got
diff -u want got || bad=1
"$DTRACE" -c ./shop -n 'pid$target:a.out:shop*Order*price:entry {}' 2>/dev/null | grep -q 'shop::Order::price(int) const:entry' || { echo 'the column'; bad=1; }
"$DTRACE" -x demangle=off -q -c ./shop -n 'pid$target:a.out:shop*tmpl*:entry { printf("%s ", probefunc); }' >got
grep -q '^_ZN4shop4tmplIiEET_S1_S1_ _ZN4shop4tmplIdEET_S1_S1_ *$' got || { echo 'demangle=off:'; cat got; bad=1; }
"$DTRACE" -F -c ./shop -n 'pid$target:a.out:shop*tmpl*:entry,pid$target:a.out:shop*tmpl*:return {}' 2>/dev/null | grep -q '<- shop::tmpl<int>(int, int)' || { echo flow; bad=1; }
exit $bad
