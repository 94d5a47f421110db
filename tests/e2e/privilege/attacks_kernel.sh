# A user who sees all of the kernel, and no processes of others: what they have in their memory, and their calls, stay theirs.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/attacks_kernel.py"
