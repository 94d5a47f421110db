# However alice makes her session end, by signals or by limits, nothing of it is left in her process.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/attacks_ends.py"
