# Stacks as values: kept in variables, printed and used as keys later, also after many others, and without the process.
# @@needs: kernel
command -v cc >/dev/null || exit 67
exec python3 "$SRC/tests/e2e/stack/values.py"
