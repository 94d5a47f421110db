# Libraries that come, go and come again with -x inproc: they have jumps wherever they are, as long as they are there.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/library.py"
