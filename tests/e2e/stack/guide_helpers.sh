# Every helper that the guide shows compiles: what guide_helpers.py says.
python3 "$SRC/tests/e2e/stack/guide_helpers.py"
