# Processes that are born, or execute another program, run on while another dtrace has the turn at their code.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
# The test locks the turns of all processes: those of a /run of its own, so that no other dtrace waits.
unshare -m mount -t tmpfs none /run 2>/dev/null || { echo "skip: no mount namespace"; exit 67; }
exec unshare -m sh -c 'mount -t tmpfs none /run && exec python3 "$SRC/tests/e2e/inproc/runs_on.py"'
