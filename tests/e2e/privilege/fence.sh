# A process that has breakpoints of a user's session executes no program that is not this user's (fence.py).
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/fence.py"
