# A process that puts files of others in the place of those in memory that it makes for dtrace: they stay as they are.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/swapped.py"
