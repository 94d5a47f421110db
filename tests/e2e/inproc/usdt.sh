# Probes that programs have themselves (USDT), by uprobes and in the process: arguments of all kinds, counters, libraries, another tracer.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/usdt.py"
