# The report of a crash: frames and registers as gdb has them, reasons in words, redaction; hostile names and damaged cores do no harm.
# @@foreign
exec python3 "$SRC/tests/e2e/crash/report.py"
