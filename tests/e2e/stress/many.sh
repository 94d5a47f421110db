# Hundreds of aggregations, a thousand speculations.
exec python3 "$SRC/tests/e2e/stress/stress.py" aggs spec
