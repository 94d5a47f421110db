# Machines on which no process can compute the time by itself: clauses that note none run in the process, and the others are relayed.
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec unshare -m --propagation private python3 "$SRC/tests/e2e/inproc/uneven.py"
