# Reports: all that text has, drops and errors in plain sight, nothing that a hostile name could run.
PYTHONPATH=$SRC/tests/e2e/picture exec python3 "$SRC/tests/e2e/picture/report.py"
