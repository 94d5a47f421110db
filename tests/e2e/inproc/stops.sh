# What a process is made to do while it stands still for -x inproc, and how much of it is done while it runs.
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/stops.py"
