# Probes of Ruby programs, made at run time by modules/ruby, which gem installs.
. "$SRC/tests/e2e/usdt/module_common"
command -v ruby >/dev/null && [ -e "$(ruby -rrbconfig -e 'print RbConfig::CONFIG["rubyhdrdir"]')/ruby.h" ] ||
	{ echo "needs the packages ruby and ruby-dev"; exit 67; }
module_copy ruby
(cd tree/modules/ruby && gem build -q usdt.gemspec -o "$TMP/usdt.gem") >out 2>&1 || fail "gem build"
export GEM_HOME=$TMP/gems
gem install -q --local --no-document usdt.gem >out 2>&1 || fail "gem install"
rm -rf tree/lib # the gem has everything
(cd tree/modules/ruby && ruby test/test_usdt.rb) >out 2>&1 || fail "its own tests"
cat >app.rb <<'END'
require 'usdt'
require 'dtrace/provider'

provider = USDT::Provider.create(:shop, :server)
sale = provider.probe(:sell, 'sale-done', :string, :integer)
many = provider.probe('count', 'many', *%w[int int int int])
provider.enable
seen = sale.enabled? ? 1 : 0
puts 'ready'
$stdout.flush
gets
seen += 1 if sale.enabled?
sale.fire('tea', 4)
sale.fire('käse 😀', -5)
sale.fire
sale.fire(17, 18.5)
many.fire(1, 1 << 41, -(1 << 41), 9)
many.fire(5, nil, 'text', Object.new)
seen += 1 if sale.enabled?
puts "seen #{seen}"
$stdout.flush
pid = fork { sale.fire('child', 1) }
Process.wait2(pid)[1].success? or abort 'child'
provider.disable
provider.remove_probe(sale)
sale.fire('nobody', 1)
late = provider.probe(:late, :late, :integer)
provider.enable
late.fire(1)
puts "end #{sale.enabled? ? 1 : 0}"
END
echo child >forks
module_trace ruby app.rb
# The interface of ruby-dtrace: its block runs only while somebody traces.
cat >block.rb <<'END'
require 'dtrace/provider'
DTrace::Provider.create(:rubyprog) { |p| p.probe :foo, { function: 'f' }, :string, :integer }
puts 'ready'
$stdout.flush
n = 0
gets
DTrace::Probe::Rubyprog.foo { |p| n += 1; p.fire('fired!', 2) }
puts n
END
: >app.out
ruby block.rb <go >app.out 2>&1 &
app=$!
exec 3>go
until grep -q ready app.out; do kill -0 $app 2>/dev/null || fail "the block does not start"; sleep 0.02; done
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q -w -p $app -n 'rubyprog$target:rubyprog:f:foo { printf("%s %d\n", copyinstr(arg0), arg1); } BEGIN { system("echo >&3"); }' >out 2>err ||
	fail "the block"
wait $app
exec 3>&-
grep -q '^fired! 2$' out && [ "$(tail -1 app.out)" = 1 ] || fail "the block's record"
# What is wrong in a conversion is not raised, and a rescue keeps its error; what ends or leaves it goes on. Only conversions of traced probes run.
cat >odd.rb <<'END'
require 'usdt'
provider = USDT::Provider.create(:rubyodd, :odd)
probe = provider.probe(:f, :odd, :string)
GC.stress = true
probes = [provider.probe(:none, :none), provider.probe(:stress, :stress, *%w[int string].map { |t| "#{t} ".strip.to_sym })]
GC.stress = false
provider.enable
Odd = Class.new { def initialize(&b) = @b = b
                  def to_s = @b.call }
def deep = deep
puts 'ready'
$stdout.flush
gets
[-> { raise 'mine' }, -> { raise NotImplementedError }, -> { deep }].each do |b|
  begin
    raise 'first'
  rescue => e
    probe.fire(Odd.new(&b))
    puts "the error is #{$!.inspect}" unless $!.equal?(e)
  end
end
puts 'throw is lost' unless catch(:out) { probe.fire(Odd.new { throw :out, 7 }) } == 7
thread = Thread.new { probe.fire(Odd.new { Thread.current.kill; sleep }); puts 'the thread lives on' }
thread.join
[Interrupt, SystemExit].each do |c|
  probe.fire(Odd.new { raise c, 'x' })
  puts "#{c} is lost"
rescue Interrupt, SystemExit
end
probe.fire('last')
puts probes.map { |p| p.arguments.length }.inspect
END
: >app.out
ruby odd.rb <go >app.out 2>&1 &
app=$!
exec 3>go
until grep -q ready app.out; do kill -0 $app 2>/dev/null || fail "the program with odd conversions does not start"; sleep 0.02; done
timeout $((60 * ${PATIENCE:-1})) "$DTRACE" -q -w -p $app -n 'rubyodd$target:::odd { printf("[%s]", copyinstr(arg0)); } BEGIN { system("echo >&3"); }' >out 2>err ||
	fail "odd conversions"
wait $app || fail "the status of odd conversions is $?"
exec 3>&-
[ "$(tr -d '\n' <out)" = '[][][][last]' ] && [ "$(cat app.out)" = "ready
[0, 2]" ] || fail "odd conversions"
