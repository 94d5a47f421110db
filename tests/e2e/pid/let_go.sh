# SPDX-License-Identifier: MIT
# Who waits for its probes does not wait for a dtrace that is stopped, or for who reads its output.
command -v cc >/dev/null || exit 67
exec python3 "$SRC/tests/e2e/pid/let_go.py"
