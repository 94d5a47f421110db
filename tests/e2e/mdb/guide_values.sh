# The values of the guide's toy interpreter: those of a frame's argument, a pair of pairs and one that contains itself.
command -v cc >/dev/null || exit 67
exec python3 "$SRC/tests/e2e/mdb/guide_values.py"
