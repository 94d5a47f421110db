# A program and its libraries, which are out of the reach of one region: clauses of both share variables and aggregations in the process; children, threads, libraries that come later, and the end of dtrace and of its keeper.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/apart.py"
