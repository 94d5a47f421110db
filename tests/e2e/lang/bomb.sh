# Each use of an inline's parameter is a copy of the argument, and is charged: a few kilobytes of D do not become
# gigabytes of operations.
python3 - >"$TMP/bomb.d" <<'END'
def balanced(n):
    return "arg0" if n == 1 else f"({balanced(n // 2)}+{balanced(n - n // 2)})"
print("inline int wide[int x] = " + "+".join(["x"] * 1500) + ";")
print("BEGIN { trace(wide[" + balanced(4096) + "]); }")
END
[ "$(wc -c <"$TMP/bomb.d")" -lt 60000 ] || { echo "the script is not small"; exit 1; }
"$DTRACE" -es "$TMP/bomb.d" >"$TMP/out" 2>"$TMP/err" && { echo "accepted"; exit 1; }
grep -q 'expand to an expression of more than 1048576 operations' "$TMP/err" || { cut -c1-300 "$TMP/err"; exit 1; }
