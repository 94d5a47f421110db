# Counters of sites: several elements at one site, with threads, signals, fork() and vfork(): each call is counted once in each of them.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/counts.py"
