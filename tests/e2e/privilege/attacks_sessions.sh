# A user who begins sessions in odd ways, to have more of them at once than the quotas allow.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/attacks_sessions.py"
