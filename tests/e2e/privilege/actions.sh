# stop(), raise(), system() and freopen() of a user with levels: on own processes and with own rights only, with -w, and not at whichever task.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/actions.py"
