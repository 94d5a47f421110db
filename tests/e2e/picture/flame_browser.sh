# @@exclusive
# @@timeout: 1200
# Flame graphs in a real browser: zoom, search, hover, reset, no scripts, dark; 100,000 stacks stay usable.
PYTHONPATH=$SRC/tests/e2e/picture exec python3 "$SRC/tests/e2e/picture/flame_browser.py"
