# The live view on a pseudo terminal: drawing, keys, size, and a terminal that is restored on every end.
PYTHONPATH=$SRC/tests/e2e/picture exec python3 "$SRC/tests/e2e/picture/live.py"
