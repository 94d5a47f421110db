# Addresses in files without symbols: each process shows the same text.
exec python3 "$SRC/tests/e2e/names/unnamed.py"
