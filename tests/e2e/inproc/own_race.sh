# Probes of a program's own come and go under threads, signals, children and another tracer: nothing is harmed, nothing is left.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/own_race.py"
