# SPDX-License-Identifier: MIT
"""Reports of programs in Python, Ruby, PHP, JavaScript and Perl; those of Java are in report_java.py."""
import os, re, shutil
from captures import *

PYTHON = """
import os
class OrderError(ValueError): pass
def leaf(n): raise OrderError(f"order {n} <b>is</b>\\x1b[1m wrong")
def middle(n):
    try:
        leaf(n)
    except OrderError:
        over()
def over():
    os.write(int(os.environ["READY"]), b"%d\\n" % os.getpid())
    os.read(int(os.environ["TOLD"]), 1)
    os.abort()
middle(42)
"""
# Uncaught: the hook of the interpreter has written it.
UNCAUGHT = """
import os, sys, traceback
def over(*args):
    sys.stderr.write("noise\\n")
    traceback.print_exception(*args)
    sys.stderr.flush()
    os.write(int(os.environ["READY"]), b"%d\\n" % os.getpid())
    os.read(int(os.environ["TOLD"]), 1)
    os.abort()
sys.excepthook = over
{}["missing"]
"""
RUBY = """
class OrderError < ArgumentError; end
def leaf(n) = raise(OrderError, "order #{n} <b>is</b> wrong")
def middle(n)
  leaf(n)
rescue OrderError
  over
end
def over
  IO.for_fd(ENV["READY"].to_i, "w").tap { |f| f.write("#{$$}\\n"); f.flush }
  IO.for_fd(ENV["TOLD"].to_i).read
  Process.kill(:ABRT, $$)
  sleep
end
middle(42)
"""
NODE = """
const fs = require("fs");
class OrderError extends TypeError {}
function leaf(n) { throw new OrderError("order " + n + " <b>is</b> wrong"); }
function middle(n) { return leaf(n) + 1; }
fs.writeSync(+process.env.READY, process.pid + "\\n");
try { fs.readSync(+process.env.TOLD, Buffer.alloc(1)); } catch (e) { }
setTimeout(() => middle(42), 1);
"""
PHP = """<?php
class OrderError extends DomainException {}
function leaf($n) { throw new OrderError("order $n <b>is</b> wrong"); }
function middle($n) {
    try {
        leaf($n);
    } catch (TypeError $e) {
        over();
    } catch (OrderError $e) {
        over();
    }
}
function over() {
    fwrite(fopen("php://fd/" . getenv("READY"), "w"), getmypid() . "\n");
    fread(fopen("php://fd/" . getenv("TOLD"), "r"), 1);
    posix_kill(getmypid(), 6);
}
middle(42);
"""
# A handler of errors has one that is on its way; $@ has the one before it, which was caught.
PERL = r"""
package OrderError;
sub new { my ($class, %%fields) = @_; return bless {%%fields}, $class }
package main;
sub over {
    my $what = shift;
    local $!;
    open(our $ready, ">&=", $ENV{READY});  # they stay open: the test lists descriptors
    open(our $told, "<&=", $ENV{TOLD});
    syswrite($ready, "$$\n");
    sysread($told, my $c, 1);
    kill ABRT => $$;
    sleep 1 while 1;
}
sub leaf { my $n = shift; die %s }
sub middle { my $n = shift; eval { leaf($n); 1 } or %s }
%s
middle(42);
"""
PERL_CASES = {
    "pl_text": (('"order $n <b>is</b> wrong"', "over()", ""), {"message": r"order 42 <b>is</b> wrong at \S+pl_text.src line 15\."}, "caught"),
    "pl_wide": (('"order \\x{20ac} \\e[1m wrong\\n"', "over()", ""), {"message": "order \u20ac \x1b\\[1m wrong"}, "caught"),
    "pl_object": (('OrderError->new(code => 7, message => "order $n <b>is</b> wrong")', "over()", ""), {"class": "OrderError", "message": "order 42 <b>is</b> wrong"}, "caught"),
    "pl_old": (('OrderError->new(-text => "no such order")', "over()", ""), {"class": "OrderError", "message": "no such order"}, "caught"),
    "pl_hash": (('{ code => 7 }', "over()", ""), {"message": r'\{ "code" => 7 \}'}, "caught"),
    "pl_number": (("5 + $n", "over()", ""), {"message": r"47 at \S+pl_number.src line 15\."}, "caught"),
    "pl_handler": (('"order $n is wrong\\n"', 'die "worse: $@"', 'eval { die "old\\n" }; $SIG{__DIE__} = sub { over() if $_[0] =~ /worse/; };'), {"message": "worse: order 42 is wrong"}, "raised"),
    "pl_shifted": (('OrderError->new(message => "worst")', "1", "$SIG{__DIE__} = \\&over;"), {"class": "OrderError", "message": "worst"}, "raised"),
    "pl_none": (('"x"', 'do { eval { 1 }; over() }', ""), None, None),
}
store = store_make()


def report_of(name, command, text):
    """The report of a program; None where it cannot run."""
    if not shutil.which(command[0]):
        print(f"skip: {command[0]} is not installed")
        return None, "", {}
    open(f"{TMP}/{name}.src", "w").write(text)
    died = Died([*command, f"{TMP}/{name}.src"], name)
    status, err, report, text, state = analysed(store, died.entry(store, signal="6"))
    check(status == 0 and report, f"{name}: analysis", (status, err, state))
    return report, text, state


def language(report):
    return [f["name"] for f in report["threads"][0]["frames"] if f["kind"] == "language"]


report, text, state = report_of("caught", ["/usr/bin/python3"], PYTHON)
if report:
    check(language(report)[:2] == ["over", "middle"], "Python's frames", frames(report))
    places = [f["place"] for f in report["threads"][0]["frames"] if f["kind"] == "language"]
    check(places[0].endswith("caught.src, line 13"), "Python's places", places)
    if "values of this version" not in str(report["notes"]):
        check(report.get("exception") == {"language": "python", "class": "OrderError", "message": "order 42 <b>is</b>\x1b[1m wrong", "source": "state", "state": "handled", "is-handled": True},
              "Python's exception", (report.get("exception"), report["notes"]))
    check(state["where"].startswith("over caught.src:13 <- middle caught.src:9") and report["signal"]["reason"] == "the process has called abort()", "where", (state, report["signal"]))

report, text, state = report_of("uncaught", ["/usr/bin/python3"], UNCAUGHT)
if report:
    check(report.get("exception") == {"language": "python", "class": "KeyError", "message": "'missing'", "source": "log"}, "the log's exception",
          (report.get("exception"), report["log"]))
    check("the end of its log says so" in text, "where it was found", text[:600])

report, text, state = report_of("rescued", ["ruby", "--disable-gems"], RUBY)
if report:
    check([n.split("#")[-1] for n in language(report)[:3]] in (["kill", "over", "rescue in middle"], ["over", "rescue in middle", "middle"]), "Ruby's frames", frames(report))
    if "values of this version" not in str(report["notes"]):
        check(report.get("exception") == {"language": "ruby", "class": "OrderError", "message": "order 42 <b>is</b> wrong", "source": "state", "state": "handled", "is-handled": True},
              "Ruby's exception", (report.get("exception"), report["notes"]))

report, text, state = report_of("caught_php", ["php", "-n", "-d", "extension=posix"], PHP)
if report:
    check([n.split("\\")[-1] for n in language(report)[:3]] in (["posix_kill", "over", "middle"], ["over", "middle", "{main}"]), "PHP's frames", frames(report))
    if "values of this version" not in str(report["notes"]):
        check(report.get("exception") == {"language": "php", "class": "OrderError", "message": "order 42 <b>is</b> wrong", "source": "state", "state": "handled", "is-handled": True},
              "PHP's exception", (report.get("exception"), report["notes"]))

report, text, state = report_of("thrown", ["node", "--abort-on-uncaught-exception"], NODE)
if report:
    check(language(report)[:2] == ["leaf", "middle"], "Node's frames", frames(report))
    exception = report.get("exception", {})
    # V8 itself writes the class from which it derives
    check(exception.get("language") == "node" and exception.get("message") == "order 42 <b>is</b> wrong" and
          (exception["class"], exception["source"]) in (("OrderError", "stack"), ("TypeError", "log")), "Node's exception", (exception, report["notes"]))
    check(exception.get("source") == "stack", "Node's exception on the stack", (exception, report["notes"], report["log"]))
    check(state["where"].startswith("leaf thrown.src:4 <- middle thrown.src:5"), "where", state)
    check("exception of node: OrderError: order 42" in text, "the text", text[:800])
for name, (parts, wanted, how) in PERL_CASES.items():
    report, text, state = report_of(name, ["/usr/bin/perl", "-CA"], PERL % parts)
    if not report:
        break
    got = report.get("exception")
    check(report["signal"]["reason"] == "the process has sent it to itself", f"{name}: kill() is no abort()", report["signal"])
    check(language(report)[0] == "main::over" or "over" in language(report)[0], f"{name}: Perl's frames", frames(report))
    if not wanted or not got:
        check(not wanted and not got, f"{name}: Perl's exception", (got, report["notes"]))
        continue
    check((got.get("source"), got.get("state"), got.get("is-handled"), got.get("class")) == ("state", how, how == "caught", wanted.get("class")) and
          re.fullmatch(wanted["message"], got["message"]), f"{name}: Perl's exception", (got, report["notes"]))
    check(("the last one that the program has caught" in text) == (how == "caught"), f"{name}: how it stands there", text[:800])
finish()
