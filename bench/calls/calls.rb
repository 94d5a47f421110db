# SPDX-License-Identifier: MIT
# ns of an empty method call, of fire and of enabled? while nobody traces the probe: for bench/made.py.
require 'usdt'

provider = USDT::Provider.create(:bench)
$probe = provider.probe(:f, :n, :string, :integer)
provider.enable

class Empty
  def fire(text, number) end
end
$empty = Empty.new
TEXT = 'tea'.freeze

def shortest(count)
  Array.new(21) do
    from = Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
    yield count
    (Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond) - from).to_f / count
  end.min
end

def calls_fire(object, count)
  i = 0
  while i < count
    object.fire(TEXT, 4)
    i += 1
  end
end

def calls_enabled(object, count)
  i = 0
  while i < count
    object.enabled?
    i += 1
  end
end

count = ARGV[0].to_i / 21
puts [shortest(count) { |n| calls_fire($empty, n) }, shortest(count) { |n| calls_fire($probe, n) },
      shortest(count) { |n| calls_enabled($probe, n) }].join(' ')
