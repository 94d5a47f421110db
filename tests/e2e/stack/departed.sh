# The second process of a new file has whole stacks, also where the first one has ended before anybody could look at it (departed.py).
exec python3 "$SRC/tests/e2e/stack/departed.py"
