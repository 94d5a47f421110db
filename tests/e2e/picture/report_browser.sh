# @@exclusive
# @@timeout: 300
# Reports in a real browser: sorting, rows behind a button, flames, notices at the top.
PYTHONPATH=$SRC/tests/e2e/picture exec python3 "$SRC/tests/e2e/picture/report_browser.py"
