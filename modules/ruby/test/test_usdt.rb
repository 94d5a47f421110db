# SPDX-License-Identifier: MIT
# What can be tested without a tracer: ruby -Ilib test/test_usdt.rb
require 'usdt'
require 'dtrace/provider'

$failed = 0
$done = 0
def check(what, good)
  $done += 1
  return if good

  $failed += 1
  puts "failed: #{what}"
end

def raises(what, error)
  yield
  check(what, false)
rescue error
  check(what, true)
end

def make(*types)
  provider = USDT::Provider.create(:test, :mod)
  probe = provider.probe(:func, :name, *types)
  provider.enable
  [provider, probe]
end

provider, probe = make(:string, 'int')
check 'names', [provider.name, provider.mod, probe.name, probe.function] == %w[test mod name func]
check 'arguments', probe.arguments == [:string, 'int']
check 'nobody traces', probe.enabled? == false
[[], ['a', 1], [1, 'a'], [nil, Object.new], ['a', 1, 2], ["a\0b", 2**70], ['a', Float::NAN]].each { |a| check a.inspect, probe.fire(*a).nil? }
raises('too many', ArgumentError) { make(*[:integer] * (USDT::ARG_MAX + 1)) }
check 'as many as possible', make(*[:integer] * USDT::ARG_MAX)[1].arguments.size == USDT::ARG_MAX
raises('a type that is no name', TypeError) { make(5) }
raises('no name', ArgumentError) { provider.probe(:func) }
raises('no provider', TypeError) { USDT::Provider.create(5) }
raises('no probe without a provider', NoMethodError) { USDT::Probe.new }
raises('enabled', USDT::Error) { provider.remove_probe(probe) }
provider.disable
provider.remove_probe(probe)
raises('removed twice', USDT::Error) { provider.remove_probe(probe) }
probe.fire('a', 1)
provider.add_probe(probe)
provider.enable
raises('of another provider', USDT::Error) { USDT::Provider.create(:other).add_probe(probe) }
raises('no probe', TypeError) { provider.add_probe(provider) }
provider = nil
GC.start
probe.fire('a', 1)
200.times do
  many = USDT::Provider.create(:many)
  20.times { |n| many.probe(:f, "p#{n}", :integer) }
  many.enable
end
GC.start
check 'descriptors', Dir['/proc/self/fd/*'].size < 50
calls = 0
DTrace::Provider.create(:ruby_prog) { |p| p.probe :foo, :string, :string }
DTrace::Probe::RubyProg.foo { |p| calls += 1 && p.fire('fired!', 'again') }
check 'a block that nobody needs', calls.zero? && !DTrace::Probe::RubyProg.foo_enabled?
check 'the other name', Dtrace::Provider.equal?(DTrace::Provider)
pid = fork { probe.fire('child', 1) }
check 'a child', Process.wait2(pid)[1].success?
puts "#{$done - $failed} passed, #{$failed} failed"
exit($failed.zero?)
