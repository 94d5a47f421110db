# Programs crash in many ways: what is captured of them beside the kernel's own core of the same crash, and attacks on the capturer.
# @@exclusive
# @@needs: kernel
exec python3 "$SRC/tests/e2e/crash/capture.py"
