# fathom-crash over a store and a kernel of the test's own: install and uninstall, status, list, show, core, debug, gc; hostile entries do no harm.
exec python3 "$SRC/tests/e2e/crash/command.py"
