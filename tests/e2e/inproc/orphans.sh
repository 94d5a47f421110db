# Children that nobody follows, with -x inproc: their jumps are taken out when dtrace ends, and do nothing where that was not to be.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/orphans.py"
