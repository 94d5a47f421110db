# SPDX-License-Identifier: MIT
"""
A Perl program builds a known graph of values, writes down what it is, and aborts: its core file in mdb. Then the same of a process that
lives, of a core file of gcore, and of core files that are damaged. What Perl itself says of a value is written by the program, by ref(),
keys() and the text of a number.
"""
import glob, os, re, shutil, subprocess, sys

sys.path.insert(0, os.environ["SRC"] + "/tests/e2e")
sys.dont_write_bytecode = True
from core_files import kernel_cores, unlimited
import asked
from asked import TMP, check, failed, rows, run

PROGRAM = r'''
use strict;
use warnings;
use utf8;
use B ();
use Scalar::Util qw(refaddr blessed reftype weaken);

package Worker;
our $living = 0;
sub new { my ($class, $id, $name) = @_; $living++; return bless { id => $id, name => $name }, $class }
sub DESTROY { $living-- }
package List; sub new { my $class = shift; return bless [@_], $class }
package Text; sub new { my ($class, $text) = @_; return bless \$text, $class }
package Counter;
sub TIESCALAR { my ($class, $n) = @_; return bless { n => $n }, $class }
sub TIEHASH { return bless [7], shift }
sub FETCH { 5 } sub FIRSTKEY { undef } sub NEXTKEY { undef }
package main;

sub at { sprintf "%x", refaddr($_[0]) }
sub text {
	my ($t) = @_;
	my $has_wide = utf8::is_utf8($t);
	my $shown = "";
	my %letters = ("\n" => "n", "\r" => "r", "\t" => "t", "\f" => "f", "\b" => "b", "\a" => "a", "\e" => "e", map { $_ => $_ } qw(" \\ $ @));
	for my $c (split //, $t) {
		my $n = ord $c;
		$shown .= $letters{$c} ? "\\$letters{$c}" : $n < 32 || $n == 127 || !$has_wide && $n > 126 ? sprintf("\\x%02x", $n) : $c;
	}
	return "\"$shown\"";
}
# What is expected, of what Perl says of the value.
sub shown {
	my ($v) = @_;
	return "undef" if !defined $v;
	if (!defined reftype($v)) {
		my $flags = B::svref_2object(\$_[0])->FLAGS;
		return $flags & B::SVf_POK ? text($v) : "$v";
	}
	my $class = blessed($v) // "";
	my $type = reftype($v);
	return "qr/$v/" if $type eq "REGEXP";
	my $before = $class ne "" ? "$class " : "";
	return $before . "[" . join(", ", map { shown($_) } @$v) . "]" if $type eq "ARRAY";
	return $before . "{" . join(", ", map { text($_) . " => " . shown($v->{$_}) } keys %$v) . "}" if $type eq "HASH";
	return "*main::" . *{$v}{NAME} if $type eq "GLOB";
	if ($type eq "CODE") {
		my $code = B::svref_2object($v);
		my $name = $code->GV->NAME;
		return $name eq "__ANON__" ? "sub {...} at $0 line " . $code->START->line : "\\&" . $code->GV->STASH->NAME . "::$name";
	}
	return $before . "\\" . shown($$v) if $type =~ /^(SCALAR|REF|LVALUE|VSTRING)$/;
	return "?$type";
}

my @workers = map { Worker->new($_, "w$_") } 0 .. 999;
my @lists = map { List->new($_, undef) } 1 .. 70;
my @texts = map { Text->new("t$_") } 1 .. 33;
tie my $tied, "Counter", 3;
tie my %tied, "Counter";
my $number_used = 17;
my $text_of_number = "v$number_used";
my $text_used = "12";
my $sum = $text_used + 1;
my $large = { map { ("key$_" => $_) } 1 .. 60 };
delete $large->{"key$_"} for 1 .. 20;
my @long = (0 .. 150);
my @shifted = (1 .. 10);
shift @shifted for 1 .. 4;
my $loop = [1];
push @$loop, $loop;
my $captured = { k => ["in"] };
my $counter = 0;
my $closure = sub { my ($own) = @_; $counter++; return [$captured, $own] };
my $weak = $captured;
weaken($weak);
our $packaged = "of a package";
my %values = (
	scalars => [undef, 0, 1, -1, 255, -5, 2**31, 9223372036854775807, -9223372036854775807, 18446744073709551615, 1.5, 0.1, -2.25, 1e14, 12345.678, 1e15, 1e20, 1e-5,
		0.0001, 1.5e+307, 9**9**9, -9**9**9, $text_used, $sum],
	texts => ["", "abc", "it's", "say \"x\"", "a\nb\t\r\e\a\b\f\\", "\x01\x7f\0", "\$x \@y %z", "caf\xe9", "caf\x{e9}\x{20ac}", "\x{20ac}5", "\x{1F600}!", "ж" x 50, "x" x 300, $text_of_number],
	arrays => [[], [1], [1, "a", undef], [[[[]]]], \@long, \@shifted, [1, [2, { 3 => 4 }]]],
	hashes => [{}, { a => 1 }, { "b c" => { d => [undef] } }, $large, { "\x{20ac}" => 1, "caf\x{e9}\x{20ac}" => 2 }],
	references => [\"text", \\"twice", \[1], \{ a => 1 }, \undef, \17, $weak, \$closure],
	objects => [Worker->new(7, "seven"), List->new(1, "x"), Text->new("inner"), bless({}, "Deep::Inner"), bless([], "0")],
	code => [\&Worker::new, \&at, $closure, sub { 1 }],
	others => [qr/a+b/, qr/x\/y/i, qr/ж/],
);
sub finish {
	my ($kind, @rest) = @_;
	my %shared = (k => $kind);
	my $text = "last";
	for my $item (1) {
		my $inside = "in $kind";
		my %known = (at => at(\%values), kind => $kind, workers => at(\@workers), first => at($workers[0]), closure => at($closure), loop => at($loop),
			tied => at(\$tied), tied_hash => at(\%tied), late => at($values{objects}[0]), objects => at($values{objects}), used => "$number_used", glob => at(\*STDOUT),
			living => $Worker::living, lists => scalar(@lists) + 1, texts => scalar(@texts) + 1);
		open my $out, ">:utf8", $ARGV[0] or die;
		print $out "$_\t$known{$_}\n" for keys %known;
		for my $name (sort keys %values) {
			print $out "value\t$name\t$_\t", shown($values{$name}[$_]), "\n" for 0 .. $#{ $values{$name} };
		}
		close $out;
		kill ABRT => $$ if $kind eq "core";
		$| = 1;
		print "ready\n";
		sysread STDIN, my $byte, 1;
	}
	my $after = 1;
	return $after;
}
sub deep { my ($n) = @_; my $left = "level $n"; $n ? deep($n - 1) : finish($ARGV[1], 8, [9]); return 1 }
sub outer {
	my $self = shift;
	my @list = (1, 2);
	eval { my $in_eval = 3.25; deep(2); 1 };
	return $self;
}
my $top = "of the file";
outer($values{objects}[0], "left");
'''


def line_of(text):
    """A value in several lines, in one; Perl's own have a comma behind the last part."""
    return re.sub(r",? (?=[\])}])", "", asked.line_of(text))


def known_read():
    known = {"values": {}}
    for line in open(f"{TMP}/known", encoding="utf-8"):
        fields = line.rstrip("\n").split("\t")
        if fields[0] == "value":
            known["values"].setdefault(fields[1], []).append(fields[3])
        else:
            known[fields[0]] = fields[1]
    return known


def values_check(target, known):
    names = [(n, i) for n in known["values"] for i in range(len(known["values"][n]))]
    shown = rows(target, "; ".join(f"{known['at']}::plprint -d 40 -n 1000 {n}.{i}" for n, i in names))
    check(len(shown) == len(names), "a row for each value", len(shown))
    for (name, i), row in zip(names, shown):
        text, wanted = line_of(row["rows"][0]["value"]), known["values"][name][i]
        check(text == wanted, f"value {i} of '{name}'", f"{text}\n{wanted}")


def members_check(target, known):
    first = known["first"]
    check(run(target, f"{first}::plprint name").strip() == '"w0"', "a member")
    check(run(target, f"{known['at']}::plprint hashes.2").strip().split() == '{ "b c" => { "d" => [ undef, ], }, }'.split(), "a member of a member")
    check(line_of(run(target, f"{known['at']}::plprint -n 3 arrays.4")) == "[0, 1, 2, ... 148 more]", "no more than was asked for")
    check(line_of(run(target, f"{known['at']}::plprint -d 1 objects.0")).count("...") == 0, "an object")
    text = line_of(run(target, f"{known['loop']}::plprint -d 4"))
    check(text in ("[1, [1, [<above>]]]", "[1, [<above>]]"), "a loop", text)
    check(line_of(run(target, f"{known['tied']}::plprint")) == 'tied(Counter {"n" => 3})', "a scalar that is tied", run(target, f"{known['tied']}::plprint"))
    check(line_of(run(target, f"{known['tied_hash']}::plprint")) == "tied(Counter [7])", "a hash that is tied")
    check(run(target, f"{known['glob']}::plprint").strip() == "*main::STDOUT", "a glob")
    types = run(target, "; ".join(f"{known[k]}::pltype" for k in ("first", "workers", "closure", "glob", "at")))
    check(types.split()[1::2] == ["Worker", "ARRAY", "CODE", "GLOB", "HASH"], "::pltype", types)
    for wrong in (int(first, 16) + 8, int(first, 16) + 1, 0x1000, 1 << 62):
        text = run(target, f"{wrong:x}::plprint", status=1)
        check("is no value" in text, f"{wrong:x} is no value", text)
    text = line_of(run(target, f"{known['closure']}::plclosure"))
    check(text in ('Scope {$counter=0, $captured={"k" => ["in"]}}', 'Scope {$captured={"k" => ["in"]}, $counter=0}'), "captured variables", text)


def stack_check(target, kind):
    text = run(target, "::plstack -v")
    frames = re.findall(r"^pl: +(.*)\n +file: (\S+)\n +posn: line (\d+)\n((?: {10}.*\n)*)", text, re.M)
    wanted = ["main::finish", "main::deep", "main::deep", "main::deep", "eval", "main::outer", "main"]
    check([f[0] for f in frames] == wanted, "frames in their order", text)
    if len(frames) != len(wanted):
        return
    seen = [{k: re.sub(r"^[0-9a-f]+ (?=\()", "", v) for k, v in re.findall(r"^ {10}(\S+): (.*)$", f[3], re.M)} for f in frames]

    def has(i, variables, absent=()):
        have = {k: v for k, v in seen[i].items() if k in variables or k in absent}
        check(have == variables, f"variables of {wanted[i]}", f"{have}\n{variables}\n{text}")

    has(0, {"arg1": f'"{kind}"', "arg2": "8", "arg3": "(ARRAY)", "$kind": f'"{kind}"', "@rest": "(ARRAY)", "%shared": "(HASH)", "$text": '"last"', "$inside": f'"in {kind}"',
            "%known": "(HASH)"}, ["$after"])
    for i, n in ((1, 0), (2, 1), (3, 2)):
        has(i, {"$left": f'"level {n}"', "arg1": str(n)})
    has(4, {"$in_eval": "3.25", "$self": "(Worker)"})
    has(5, {"$self": "(Worker)", "@list": "(ARRAY)", "arg1": '"left"'}, ["$in_eval"])
    has(6, {"$top": '"of the file"', "@workers": "(ARRAY)", "%values": "(HASH)"}, ["$packaged"])


def census_check(target, known):
    shown = {r["shape"].rsplit(":", 1)[0]: r["objects"] for r in rows(target, "::findplobjects")[0]["rows"]}
    for name, count in (("Worker", int(known["living"])), ("List", int(known["lists"])), ("Text", int(known["texts"])), ("Counter", 2), ("Deep::Inner", 1)):
        check(shown.get(name) == count, f"objects of {name}: {count}", shown)
    check(shown.get("SCALAR", 0) > 2000 and shown.get("CODE", 0) > 20 and shown.get("HASH", 0) > 5 and shown.get("ARRAY", 0) > 10, "what is not blessed", shown)
    if "-p" in target:
        return
    listed = run(target, "::findplobjects -c List -l | ::pltype").split()
    check(listed.count("List") == int(known["lists"]), "each of a class", len(listed))
    wanted = [(known["first"], known["workers"], "[0]", "ARRAY"), (known["late"], known["objects"], "[0]", "ARRAY"), (known["objects"], known["at"], "objects", "HASH")]
    for (word, holder, name, cls), document in zip(wanted, rows(target, "; ".join(f"{w[0]}::plrefs" for w in wanted))):
        found = {str(r["object"]).replace("0x", ""): (r["name"], r["class"].split(":")[0]) for r in document["rows"] if "object" in r}
        check(found.get(holder) == (name, cls), f"{name} of {cls} refers to the value", found)


def program_run(perl, kind):
    folder = f"{TMP}/{kind}"
    os.makedirs(folder, exist_ok=True)
    return subprocess.Popen([perl, f"{TMP}/graph.pl", f"{TMP}/known", kind], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


open(f"{TMP}/graph.pl", "w").write(PROGRAM)
unlimited()
asked.version = os.environ.get("PERL", "/usr/bin/perl")
if not os.access(asked.version, os.X_OK):
    print("no Perl is installed")
    sys.exit(67)
with kernel_cores():
    program_run(asked.version, "core").communicate()
core = next(iter(glob.glob(f"{TMP}/core/core*")), None)
if not core:
    print("it leaves no core file")
    sys.exit(1)
known = known_read()
values_check([core], known)
members_check([core], known)
stack_check([core], "core")
census_check([core], known)
asked.damage_check(core, int(known["at"], 16), [f"::plstack -v; {known['at']}::plprint -d 20; ::findplobjects; {known['first']}::plrefs; "
                                                f"{known['closure']}::plclosure"], every=512, align=8, begin=1 << 14)
os.unlink(core)

p = program_run(asked.version, "live")
try:
    check(p.stdout.readline() == b"ready\n", "the program begins")
    known = known_read()
    for target in (["-p", str(p.pid)], [f"{TMP}/live/core.{p.pid}"]):
        if target[0] != "-p":
            if not shutil.which("gcore"):
                continue
            subprocess.run(["gcore", "-o", f"{TMP}/live/core", str(p.pid)], capture_output=True, timeout=120)
        values_check(target, known)
        stack_check(target, "live")
        census_check(target, known)
    p.communicate(b"\n", timeout=60)
    check(p.returncode == 0, "it goes on to its end", p.returncode)
finally:
    if p.poll() is None:
        p.kill()
    p.wait()
sys.exit(1 if failed else 0)
