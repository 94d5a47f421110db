# Where the rights of a user's dtrace come from: capabilities of its file and /etc/fathom/privileges; who is refused; what was there before.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/origin.py"
