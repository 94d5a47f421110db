# What Linux has nothing for is refused with the reason, wherever it stands, and what to use instead (d-language.md 5.3, 5.4, appendix C).
refused() { # call text
	"$DTRACE" -w -qen "BEGIN { $1; }" >"$TMP/out" 2>&1 && { echo "$1 compiles"; exit 1; }
	grep -q "$2" "$TMP/out" && grep -q '\[D_UNKNOWN\]' "$TMP/out" && grep -q '^  hint: ' "$TMP/out" || { echo "$1:"; cat "$TMP/out"; exit 1; }
}
for call in 'trace(msgsize(0))' 'trace(msgdsize(0))' 'trace(ddi_pathname(0, 0))' 'trace(sx_exclusive_held(0))' 'trace(sx_isexclusive(0))' \
	'trace(sx_shared_held(0))' 'panic()' 'breakpoint()'; do
	refused "$call" 'is not supported on Linux'
done
exit 0
