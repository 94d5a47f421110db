# Children with -x inproc and -x follow=fork have jumps as their parent: what they count and record is exact and their own, and nothing stays in them.
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/follow.py"
