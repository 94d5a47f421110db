-- SPDX-License-Identifier: MIT
-- ns of an empty method call, of fire and of is_enabled while nobody traces the probe: for bench/made.py.
local usdt = require "usdt"
local provider = usdt.provider("bench")
local probe = provider:probe("f", "n", "char *", "int")
provider:enable()

local Empty = {}
Empty.__index = Empty
function Empty:fire(text, number) end
local empty = setmetatable({}, Empty)
local count = tonumber(arg[1]) // 21

local function shortest(calls, object)
  local best = math.huge
  for _ = 1, 21 do
    local begin = os.clock()
    calls(object)
    best = math.min(best, (os.clock() - begin) * 1e9 / count)
  end
  return best
end

local function calls_fire(object)
  for _ = 1, count do object:fire("tea", 4) end
end

local function calls_is_enabled(object)
  for _ = 1, count do object:is_enabled() end
end

print(shortest(calls_fire, empty), shortest(calls_fire, probe), shortest(calls_is_enabled, probe))
