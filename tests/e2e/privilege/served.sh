# A program on a file system that a user serves takes no breakpoints of users with levels: its server could hold up every fork().
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/served.py"
