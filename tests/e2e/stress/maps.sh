# More aggregations and arrays than a program may have maps.
exec python3 "$SRC/tests/e2e/stress/stress.py" maps
