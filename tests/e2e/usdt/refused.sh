# Provider definitions that are refused (definitions.err), and where and why.
# @@foreign
python3 "$SRC/tests/e2e/usdt/refused.py"
