# fathom-crash install on this kernel: what crashes is captured, 'test' says so and why not, and uninstall restores what was there.
# @@exclusive
# @@needs: kernel
exec python3 "$SRC/tests/e2e/crash/install.py"
