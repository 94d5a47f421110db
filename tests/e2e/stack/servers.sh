# Languages as plug-ins of servers: Python, Perl, Ruby and PHP in uWSGI, Python and Perl in Apache, Perl and Lua in nginx. A page writes down its own
# stack and makes a system call at the same point: every frame that the language has is there, and behind the last one are the functions
# of the server.
cd "$TMP" || exit 1
[ -x /usr/bin/uwsgi ] || [ -x /usr/sbin/apache2 ] || [ -x /usr/sbin/nginx ] || {
	echo "this test needs a server with languages as plug-ins (packages uwsgi-plugin-python3, uwsgi-plugin-psgi, uwsgi-plugin-rack-ruby3.1 and ruby-rack, uwsgi-plugin-php; libapache2-mod-wsgi-py3, libapache2-mod-perl2; libnginx-mod-http-perl, libnginx-mod-http-lua)"
	exit 67
}
chmod 755 .
export NOTED="$TMP/noted"

cat >app.py <<'X'
import os, sys

def point():
    f = sys._getframe(1)
    frames = []
    while f:
        frames.append("%s:%d (%s)" % (f.f_code.co_filename, f.f_lineno, f.f_code.co_name))
        f = f.f_back
    with open(os.environ.get("NOTED", "NOTED_HERE"), "a") as out:
        out.write("|".join(frames) + "\n")
    os.getppid()

def deep(n):
    if n: return deep(n - 1)
    point()

def numbers():
    point()
    yield 1

class K:
    def __lt__(self, other):
        point()
        return False

def application(env, start):
    start("200 OK", [("Content-Type", "text/plain")])
    if env["PATH_INFO"].endswith("/first"):
        os.getppid()
    else:
        deep(40)
        list(map(deep, [2, 0]))
        list(numbers())
        sorted([K(), K()])
    return [b"done"]
X
cat >Points.pm <<'X'
package Points;
sub point {
    my ($file, $line, @f, @frames);
    for (my $i = 0; @f = caller $i; $i++) {
        push @frames, "$file:$line (" . ($f[3] =~ s/[()]//gr) . ")" if $i;
        ($file, $line) = @f[1, 2];
    }
    open my $out, '>>', $ENV{NOTED} || 'NOTED_HERE';
    print $out join('|', @frames), "\n";
    close $out;
    getppid;
}
sub deep { my $n = shift; $n ? deep($n - 1) : point() }
sub points {
    deep(40);
    my @sorted = sort { point(); $a <=> $b } 2, 1;
    eval { point(); die };
    "xx" =~ s/x/point(); ''/ger;
}
1;
X
cat >app.psgi <<'X'
use lib 'FOLDER';
use Points;
my $app = sub {
    my $env = shift;
    if ($env->{PATH_INFO} eq '/first') { getppid } else { Points::points() }
    return [200, ['Content-Type' => 'text/plain'], ['done']];
};
X
cat >config.ru <<'X'
def point
  File.open(ENV["NOTED"], "a") { |f| f.puts caller_locations(3).map { |l| "#{l.path}:#{l.lineno} (#{l.label})" }.join("|") }
  Process.ppid
end
def deep(n) n > 0 ? deep(n - 1) : point end
class K
  def self.all
    yield
  end
end
run lambda { |env|
  if env["PATH_INFO"] == "/first"
    Process.ppid
  else
    deep(40)
    [2, 0].each { |n| deep(n) }
    K.all { [3].map { point } }
  end
  [200, {"Content-Type" => "text/plain"}, ["done"]]
}
X
mkdir www && cp "$SRC/tests/e2e/stack/note.php" www && cat >www/page.php <<'X'
<?php
require __DIR__ . '/note.php';
function point() {
    note(debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS));
    posix_getppid();
    return 1;
}
function deep($n) { return $n ? deep($n - 1) : point(); }
function numbers() { yield point(); }
if (isset($_GET['first'])) {
    posix_getppid();
} else {
    $out = fopen(getenv('NOTED'), 'a');
    deep(40);
    array_map('deep', [2, 0]);
    foreach (numbers() as $n)
        point();
    $list = [3, 1];
    usort($list, fn($a, $b) => point() ? $a <=> $b : 0);
}
echo 'done';
X
cat >stacks.py <<'X'
import os, re, sys
for block in sys.stdin.read().split("\n\n"):
    lines = [l.strip() for l in block.split("\n") if l.strip()]
    found = [l[2:-2] for l in lines if l.startswith("[ ")]
    # what makes the system call, and point(), are left out
    while found and re.search(r"\((ppid|posix_getppid|getppid)\)$", found[0]):
        found.pop(0)
    if found and re.search(r"\b(Points::)?point\)$", found[0]):
        last = max(i for i, l in enumerate(lines) if l.startswith("[ "))
        behind = "".join(lines[last + 1:])
        text = "|".join(found[1:]) + ("" if re.search(sys.argv[1], behind) else " behind them: " + behind)
        print(text.replace(os.getcwd() + "/", ""))
X
cat >ask.py <<'X'
import os, sys, time, urllib.request

def wait(what):
    for i in range(3000):
        if what(): return
        time.sleep(0.02)

def page(path):
    try:
        return urllib.request.urlopen("http://127.0.0.1:%s%s" % (sys.argv[1], path)).read().decode()
    except OSError as e:
        return str(e)

wait(lambda: os.path.exists("began"))
wait(lambda: "refused" not in page(sys.argv[2]))
wait(lambda: os.path.exists("met"))
got = page(sys.argv[3])
if got != "done":
    print("the page says", got)
X
script='syscall::getppid:entry /pid == $target/ { jstack(400); }'
port=$((20000 + $$ % 12000)) # below those that connections get

# served NAME BEHIND FIRST SECOND COMMAND...: the server's stacks while it makes two pages
served() {
	name=$1 behind=$2 first=$3 second=$4
	shift 4
	port=$((port + 1))
	rm -f met began
	: >noted
	chmod 666 noted
	"$@" >server.out 2>&1 &
	server=$!
	LC_ALL=C.UTF-8 "$TRIGGER/met" "$DTRACE" -qw -n 'BEGIN { system("touch began"); }' -n "$script" -p $server >got.txt &
	tracer=$!
	python3 ask.py $port "$first" "$second" || cat server.out
	kill -9 $server
	wait $server 2>/dev/null
	wait $tracer
	sed -i "s,$TMP/,,g" noted
	LC_ALL=C.UTF-8 python3 stacks.py "$behind" <got.txt >got
	cmp -s noted got || {
		echo "$name: stacks differ:"
		diff noted got | cut -c1-300 | head -20
	}
	echo "$name: $(wc -l <noted) stacks"
}

uwsgi() { # NAME PLUGIN-FILE SECOND-PAGE BEHIND OPTION...
	plugin=$2 name=$1 second=$3 behind=$4
	shift 4
	if [ -e "/usr/lib/uwsgi/plugins/$plugin" ]; then
		served "$name" "$behind" "${first:-/first}" "$second" /usr/bin/uwsgi --http-socket 127.0.0.1:$((port + 1)) "$@"
	else
		echo "$name: $none stacks"
	fi
}

apache() { # NAME MODULE LINE...: lines of the configuration
	name=$1 module=$2 behind=$3
	shift 3
	if [ ! -e "/usr/lib/apache2/modules/$module.so" ]; then
		echo "$name: $none stacks"
		return
	fi
	cat >httpd.conf <<X
ServerRoot $TMP
Listen 127.0.0.1:$((port + 1))
ServerName example.test
LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule ${module#mod_}_module /usr/lib/apache2/modules/$module.so
PidFile $TMP/pid
ErrorLog $TMP/error.log
User www-data
Group www-data
$(printf '%s\n' "$@")
X
	served "$name" "$behind" /first / /usr/sbin/apache2 -f "$TMP/httpd.conf" -X
}

nginx() { # NAME MODULES LINES-OF-HTTP FIRST SECOND: what makes the pages
	for module in $2; do
		if [ ! -e "/usr/lib/nginx/modules/$module.so" ]; then
			echo "$1: $none stacks"
			return
		fi
	done
	{
		for module in $2; do
			echo "load_module /usr/lib/nginx/modules/$module.so;"
		done
		cat <<X
daemon off;
master_process off;
pid $TMP/nginx.pid;
error_log $TMP/error.log;
events {}
http {
	access_log off;
	client_body_temp_path $TMP/nginx; proxy_temp_path $TMP/nginx; fastcgi_temp_path $TMP/nginx; uwsgi_temp_path $TMP/nginx; scgi_temp_path $TMP/nginx;
	$3
	server {
		listen 127.0.0.1:$((port + 1));
		location /first { $4; }
		location / { $5; }
	}
}
X
	} >nginx.conf
	served "$1" 'nginx`main' /first / /usr/sbin/nginx -c "$TMP/nginx.conf" -p "$TMP"
}

cat >page.lua <<'X'
local ffi = require "ffi"
pcall(ffi.cdef, "int getppid(void);")

local function point()
  local frames, level = {}, 2
  local i = debug.getinfo(level, "nSl")
  while i do
    local file = i.source:sub(2)
    local name = i.name or i.what == "main" and "main chunk" or i.what == "C" and "?" or "function <" .. file .. ":" .. i.linedefined .. ">"
    frames[#frames + 1] = i.what == "C" and "[C] (" .. name .. ")" or file .. ":" .. i.currentline .. " (" .. name .. ")"
    level = level + 1
    i = debug.getinfo(level, "nSl")
  end
  local out = io.open("NOTED_HERE", "a")
  out:write(table.concat(frames, "|"), "\n")
  out:close()
  local parent = ffi.C.getppid()
  return parent
end

if ngx.var.uri == "/first" then
  local parent = ffi.C.getppid()
  ngx.print("first")
  return
end
local function deep(n) if n > 0 then return (deep(n - 1)) end point() return n end
point()
deep(5)
table.sort({2, 1}, function(a, b) point() return a < b end)
local co = coroutine.wrap(function() ngx.sleep(0.001) point() end) -- of the module: it is nginx that resumes it
co()
ngx.sleep(0.001)
pcall(deep, 1)
ngx.print("done")
X
sed -i "s,NOTED_HERE,$TMP/noted," app.py Points.pm page.lua
sed -i "s,FOLDER,$TMP," app.psgi
cat >Pages.pm <<'X'
package Pages;
use lib 'FOLDER';
use Points;
sub answer { my $r = shift; $r->can('send_http_header') ? $r->send_http_header('text/plain') : $r->content_type('text/plain'); $r->print('done'); return 0 }
sub first { getppid; answer(@_) }
sub all { Points::points(); answer(@_) }
sub handler { my $r = shift; return $r->uri eq '/first' ? first($r) : all($r) }
1;
X
sed -i "s,FOLDER,$TMP," Pages.pm
{
	none=0
	uwsgi 'uwsgi, python' python3_plugin.so / 'uwsgi-core`main' --plugin python3 --wsgi-file app.py
	uwsgi 'uwsgi, perl' psgi_plugin.so / 'uwsgi-core`main' --plugin psgi --psgi app.psgi
	uwsgi 'uwsgi, ruby' rack_ruby31_plugin.so / 'uwsgi-core`main' --plugin rack --rack config.ru
	first='/page.php?first' uwsgi 'uwsgi, php' php_plugin.so /page.php 'uwsgi-core`main' --http-socket-modifier1 14 --plugin php --php-docroot www
	apache 'apache, python' mod_wsgi 'apache2`main' "WSGIScriptAlias / $TMP/app.py" '<Directory />' 'Require all granted' '</Directory>'
	apache 'apache, perl' mod_perl 'apache2`main' "PerlSwitches -I$TMP" 'PerlModule Apache2::RequestRec' 'PerlModule Apache2::RequestIO' 'PerlModule Points' 'PerlModule Pages' '<Location />' 'SetHandler modperl' \
		'PerlResponseHandler Pages' '</Location>'
	nginx 'nginx, perl' ngx_http_perl_module "perl_modules $TMP; perl_require Points.pm; perl_require Pages.pm;" 'perl Pages::first' 'perl Pages::all'
	nginx 'nginx, lua' 'ndk_http_module ngx_http_lua_module' 'lua_package_path ";;";' "content_by_lua_file $TMP/page.lua" "content_by_lua_file $TMP/page.lua"
} >out 2>&1
cat out
