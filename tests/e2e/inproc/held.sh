# A window that a signal handler will return into: it is written when the handler has returned, and said to be left out if that takes too long.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/held.py"
