# Probes in a handler on an alternate stack for signals: how much of it they need at most, and a stack that is too small.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/sigstack.py"
