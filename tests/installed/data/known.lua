-- SPDX-License-Identifier: MIT
local function known_here()
  local removed = os.remove("/nonexistent/known")
  return removed
end

local function known_outer()
  local removed = known_here()
  return removed
end

local function is_seen()
  local file = io.open("seen")
  if file then file:close() end
  return file ~= nil
end

known_outer()
while not is_seen() do
  for i = 1, 10 do known_outer() end
  os.execute("sleep 0.05")
end
