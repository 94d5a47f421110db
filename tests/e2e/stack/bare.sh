# Stacks of a process before its helper is attached are counted (bare.py).
# @@needs: kernel
command -v lua5.4 >/dev/null || { echo "there is no lua5.4"; exit 67; }
exec python3 "$SRC/tests/e2e/stack/bare.py"
