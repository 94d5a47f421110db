# System calls fail while probes in the process are attached: dtrace goes on or says why, and nothing is left in the process.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/inject.py"
