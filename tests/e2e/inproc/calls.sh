# Probes at calls (pid$target:MODULE:FUNCTION:call): what fires by uprobes (-x inproc) and in the process is the same, and the program does not notice.
# @@needs: even_tsc
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
command -v c++ >/dev/null || { echo "skip: no C++ compiler"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/calls.py"
