# kill -9 and ^C at every time of a run that places uprobes (keeper.py).
command -v cc >/dev/null || exit 67
exec python3 "$SRC/tests/e2e/pid/keeper.py"
