# Equal crashes are one with a count; mails, posts, the counter, and D scripts over each core.
# @@foreign
exec python3 "$SRC/tests/e2e/crash/report_send.py"
