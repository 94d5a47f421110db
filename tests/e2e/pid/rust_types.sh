# args[] of functions of Rust have the types that the debug information says; without a Rust compiler (rustlike.S).
# @@foreign
cd "$TMP" || exit 1
bad=0
cat >script.d <<'X2'
pid$target:a.out:stall??greet:entry { printf("%s %d\n", args[0], args[1]); }
pid$target:a.out:stall??greet:return { printf("%d\n", args[1] & 0xff); }
pid$target:a.out:stall??place:entry { printf("%d %d %s\n", args[1]->id, args[3]->id,
	copyinstr((uintptr_t)args[3]->name.data_ptr, args[3]->name.length));
	printf("%d %d %s\n", arg0, arg1, copyinstr(arg3, arg4)); }
pid$target:a.out:stall??moved:entry { printf("%d %d %s\n", args[1], args[2]->id, args[3]); }
X2
cat >want <<'X2'
ferris 5
5
7 8 ferris
1 42 and
9 8 more
X2
"$DTRACE" -q -c "$TRIGGER/rustlike" -s script.d 2>&1 | sed '/^$/d' >got
diff -u want got || bad=1
refused() { # PROBE INDEX TEXT
	"$DTRACE" -q -c "$TRIGGER/rustlike" -n "pid\$target:a.out:stall??$1 { trace(args[$2]); }" >got 2>&1 && { echo "$1 $2: accepted"; bad=1; }
	grep -q "$3" got || { echo "$1 $2:"; cat got; bad=1; }
}
refused place:entry 0 'it consists of 2 words, arg0 to arg1'
refused place:entry 2 'it consists of 2 words, arg3 to arg4'
refused moved:entry 0 "is a 'u32', which is not in arg0 to arg9"
refused moved:return 1 "is a 'Order', which is not in arg0 to arg9"
"$DTRACE" -lvn 'pid$target:a.out:stall??place:entry' -c "$TRIGGER/rustlike" | sed -n 's/^\t*\(args.*\)/\1/p' >got
printf 'args[0]: Option<u32>\nargs[1]: userland Order *\nargs[2]: Option<&str>\nargs[3]: &stall::Order\n' | diff -u - got || bad=1

# what rustc makes
command -v rustc >/dev/null || exit $bad
cp "$SRC/tests/e2e/pid/rust_types.rs" shop.rs
cat >script.d <<'X2'
pid$target:a.out:shop??greet:entry { printf("%s %d %d\n", args[0], args[1], args[2]); }
pid$target:a.out:*Priced*price:entry { printf("%d %d\n", args[0]->id, args[1]); }
pid$target:a.out:*Priced*price:return { printf("%d\n", args[1]); }
pid$target:a.out:shop??slice:entry { printf("%d %d %d %d\n", arg1, args[1]->vec.len, args[2]->id, args[3]); }
pid$target:a.out:shop??big:entry { printf("%d %c %d %d %d\n", args[0]->id, args[3], args[2]->variant, args[2]->Big.w, args[2]->Big.h); }
X2
cat >want <<'X2'
bob 2 1
42 3
126
3 3 9 -5
42 x 1 3 4
X2
for how in "" "-O"; do
	# shellcheck disable=SC2086
	rustc --edition 2021 -g $how -o shop shop.rs 2>err || { cat err; exit 1; }
	"$DTRACE" -q -c ./shop -s script.d 2>&1 | sed '/^$/d; /^out:/d' >got
	diff -u want got || { echo "rustc $how"; bad=1; }
done
exit $bad
