# fathom-metrics and what it is given: annotations, addresses, keys. What is wrong is refused with its place, and a status.
exec python3 "$SRC/tests/e2e/cmd/metrics_input.py"
