# Sessions with -x inproc leave no memory behind in a process, but for a stub in which a thread still is.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/regions.py"
