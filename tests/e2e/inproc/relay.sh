# Clauses that run in the kernel all the same: what they see of places that are relayed is what uprobes see (-x inproc).
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/relay.py"
