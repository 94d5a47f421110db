# fathom-metrics and receivers that fail: one that refuses, comes and goes, takes only a part, never answers. What arrives is exact, and
# scrapes are answered meanwhile.
exec python3 "$SRC/tests/e2e/cmd/metrics_push.py"
