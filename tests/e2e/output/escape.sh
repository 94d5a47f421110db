# Texts of others neither control a terminal nor make lines of their own; the program's own text is as it was written.
exec python3 "$SRC/tests/e2e/output/escape.py"
