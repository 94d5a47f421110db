# A process that does harm to the memory that it shares with dtrace: dtrace lives, ends, and says what it has dropped.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/hostile.py"
