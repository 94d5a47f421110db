# @@exclusive
# @@timeout: 300
# Heat maps in a real browser: cells, hover, axes, the choice among several.
PYTHONPATH=$SRC/tests/e2e/picture exec python3 "$SRC/tests/e2e/picture/heat_browser.py"
