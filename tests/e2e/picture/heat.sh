# Heat maps: each value stands once in its range and interval, whether the program clears its aggregations or not.
PYTHONPATH=$SRC/tests/e2e/picture exec python3 "$SRC/tests/e2e/picture/heat.py"
