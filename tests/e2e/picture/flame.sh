# Flame graphs and folded stacks: their values are those of the text, their pages well-formed, alone and safe.
PYTHONPATH=$SRC/tests/e2e/picture exec python3 "$SRC/tests/e2e/picture/flame.py"
