# Children with -x inproc and -x follow=fork: they have uprobes where their parent has jumps, and all is counted.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/family.py"
