# @@needs: kernel
# Processes that execute one program after the other: every frame keeps its name (execs.py).
exec python3 tests/e2e/stack/execs.py
