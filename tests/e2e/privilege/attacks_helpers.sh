# Programs of alice's carry hostile helpers, probes and notes, or map a runtime whose memory they have falsified. Her own session, carol's and root's
# read nothing for them, go on, and have bob's stacks whole and right.
# @@needs: kernel
exec python3 "$SRC/tests/e2e/privilege/attacks_helpers.py"
