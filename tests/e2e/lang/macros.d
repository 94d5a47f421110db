/* @@args: 42 some-text */
#pragma D option quiet
BEGIN { printf("%d %s %s %d\n", $1, $$1, $$2, $pid == pid); exit(0); }
