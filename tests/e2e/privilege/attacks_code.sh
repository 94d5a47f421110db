# A user who has a level wants a breakpoint inside an instruction of a file that others execute as well.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/attacks_code.py"
