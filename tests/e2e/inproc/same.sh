# What scripts print is the same, whether their probes trap or jump (-x inproc); and what becomes of the process.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/same.py"
