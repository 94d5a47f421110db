# The whole group of tests of stacks beside 30 processes that compute. e2e/stack/busy has the part of it that every run of the suite has.
# @@full
# @@exclusive: no other test is to be measured beside these processes
# @@timeout: 5400
command -v cc >/dev/null || exit 67
cc -O1 -o "$TMP/busy" "$SRC/bench/busy.c" || exit 1
trap 'kill $busy 2>/dev/null' EXIT
for i in $(seq 30); do
	"$TMP/busy" &
	busy="$busy $!"
done
# $TMP is for root alone, and some of these tests run programs as other users
env -u TMP python3 "$SRC/tests/run.py" "$BUILD" --only e2e/stack/ --patience $((10 * ${PATIENCE:-1}))
