# SPDX-License-Identifier: MIT
# PostgreSQL 15: its macros come from the header of -h through sed, its object of -G is made from all objects of the server.
needs gcc make perl
source_of postgresql-15
quiet ./configure --enable-dtrace --without-readline --without-zlib --without-icu --prefix="$work/postgresql-installed"
quiet make -C src/backend generated-headers
quiet make -j2 install
bin="$work/postgresql-installed/bin" data="$work/postgresql-data"
rm -rf "$data" && install -d -o postgres -m 700 "$data"
quiet runuser -u postgres -- "$bin/initdb" -D "$data" -N -A trust
runuser -u postgres -- "$bin/pg_ctl" -D "$data" -o "-k $data -c listen_addresses=" -l "$data/log" -w start >/dev/null
trap 'runuser -u postgres -- "$bin/pg_ctl" -D "$data" -m fast stop >/dev/null; rm -rf "$data" "$work/postgresql-installed"' EXIT
cat >"$work/sql.sh" <<EOF
for i in 1 2 3; do "$bin/psql" -h "$data" -U postgres -qc "select \$i, 'text'" postgres >/dev/null; done
"$bin/psql" -h "$data" -U postgres -qc "create table t as select generate_series(1, 1000) n; update t set n = n + 1; vacuum t" postgres >/dev/null 2>&1
EOF
# The servers' processes begin while they are traced.
traced "start select 1, 'text'
done select 1, 'text'
parse select 3, 'text'
a transaction
a buffer
a sort or a lock" '
postgresql*:::query-start { printf("start %s\n", copyinstr(arg0)); }
postgresql*:::query-done { printf("done %s\n", copyinstr(arg0)); }
postgresql*:::query-parse-start { printf("parse %s\n", copyinstr(arg0)); }
postgresql*:::transaction-start { printf("a transaction\n"); }
postgresql*:::buffer-read-done { printf("a buffer\n"); }
postgresql*:::lwlock-acquire { printf("a sort or a lock\n"); }' "sh $work/sql.sh"
[ "$(readelf -n "$bin/postgres" | grep -c 'Provider: postgresql')" -ge 57 ] || { echo "too few probes"; false; }
