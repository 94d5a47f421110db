-- SPDX-License-Identifier: MIT
-- What can be tested without a tracer: make test
local usdt = require "usdt"
local unpack = table.unpack or unpack

local function make(...)
  local provider = usdt.provider("test", "mod")
  local probe = provider:probe("func", "name", ...)
  provider:enable()
  return provider, probe
end
local function fails(f, ...)
  assert(not pcall(f, ...))
end

local provider, probe = make("char *", "int")
assert(probe:is_enabled() == false)
for _, args in ipairs {{}, {"a", 1}, {1, "a"}, {{}, print}, {"a", 1, 2}, {true, 1/0}, {"a\0b", 0/0}} do
  assert(select("#", probe:fire(unpack(args))) == 0)
end
local types = {}
for i = 1, usdt.ARG_MAX do types[i] = "int" end
make(unpack(types))
fails(make, "int", unpack(types))
fails(make, {})
fails(provider.probe, provider, "func")
fails(usdt.provider)
fails(probe.fire, provider)
fails(provider.enable, probe)
fails(provider.remove_probe, provider, probe) -- it is enabled
provider:disable()
provider:remove_probe(probe)
fails(provider.remove_probe, provider, probe)
probe:fire("a", 1)
provider = nil
collectgarbage()
collectgarbage()
probe:fire("a", 1)
assert(not probe:is_enabled())
for _ = 1, 200 do
  local many = usdt.provider("many")
  for n = 1, 20 do many:probe("f", "p" .. n, "int") end
  many:enable()
end
collectgarbage()
print("passed")
