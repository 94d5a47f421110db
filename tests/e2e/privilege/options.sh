# Each flag of dtrace and each option for a user with levels: what it does, or who refuses it (options.py); a new one has to be decided.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/options.py"
