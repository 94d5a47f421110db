# fathom-metrics counts exactly: rows that are one series, what is alive, normalised rows, series that expire, sums above 2^53.
exec python3 "$SRC/tests/e2e/cmd/metrics_exact.py"
