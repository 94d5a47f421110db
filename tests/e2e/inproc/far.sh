# Probes of a program and of a library out of its reach, so many that they are of two units: both have jumps; where children are followed, the places of one are uprobes.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/far.py"
