# Functions that are nothing but a jump: probed in the process at their only instruction, on which other tracers have their breakpoints.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/thunk.py"
