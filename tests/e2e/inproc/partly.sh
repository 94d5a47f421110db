# A return that is probed at all ways to it: where one of them cannot be written, none is, and no count is of a part.
# @@needs: even_tsc
command -v cc >/dev/null || exit 67
[ "$(uname -m)" = x86_64 ] || { echo "skip: no code for this processor"; exit 67; }
exec python3 "$SRC/tests/e2e/inproc/partly.py"
