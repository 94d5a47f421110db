# Ways of memprof work for a user with the levels that its page names, on the user's own processes, and say which level is missing, and who gives it.
# @@needs: kernel
# @@timeout: 600
exec /usr/bin/python3 "$SRC/tests/e2e/privilege/memprof.py"
