# Return probes on all functions of a C++ program and those that throw with threads, exceptions and longjmp: it must not notice.
# @@foreign
[ -x "$TRIGGER/throws" ] || { echo 'no C++ compiler'; exit 67; }
want=$("$TRIGGER/throws" 200)
"$DTRACE" -qn 'pid$target:throws::entry, pid$target:throws::return, pid$target:libstdc*:__cxa*:return,
	pid$target:libgcc_s*:_Unwind*:entry, pid$target:libgcc_s*:_Unwind*:return { @all = count(); }
	pid$target:throws:t_catch:entry { @c["in"] = count(); } pid$target:throws:*catch*:return { @c["out"] = count(); }
	pid$target:throws:shop*Order*price:entry { @c["price in"] = count(); } pid$target:throws:*5price*:return { @c["price out"] = count(); }
	END { printa("%s %@d\n", @c); trunc(@all); }' -o "$TMP/counts" -c "$TRIGGER/throws 200" >"$TMP/out" 2>"$TMP/err"
got=$(cat "$TMP/out")
[ "$got" = "$want" ] || { echo "the program said '$got', not '$want'"; cat "$TMP/err"; exit 1; }
# 3 threads x 200 calls, of which half throw: those have no return
printf 'in 600\nout 600\nprice in 600\nprice out 300\n' >"$TMP/want"
sort "$TMP/counts" | grep . >"$TMP/got"
cmp "$TMP/got" "$TMP/want" || { cat "$TMP/got" "$TMP/err"; exit 1; }
