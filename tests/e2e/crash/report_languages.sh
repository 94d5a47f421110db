# Reports of Node.js, Perl, PHP, Python and Ruby: frames of the language, the exception's class and message, from the runtime's state, the stack, or the log.
# @@foreign
exec python3 "$SRC/tests/e2e/crash/report_languages.py"
