# A small program of each runtime with all probes that it has: exit status and output are those of an untraced run.
"$SRC/tests/runtimes/unharmed" "$(realpath "$(dirname "$DTRACE")/../../..")" --short >"$TMP/out" 2>&1 || { cat "$TMP/out"; exit 1; }
grep -q 'the same$' "$TMP/out" || { echo "none of the runtimes is here"; exit 67; }
