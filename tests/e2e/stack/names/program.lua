-- SPDX-License-Identifier: MIT
-- Random functions of Lua for names.py: program.lua COUNT SEED BASE
local N, SEED, BASE = tonumber(arg[1]), tonumber(arg[2]), tonumber(arg[3])
math.randomseed(SEED)
local own = io.open("own", "w")
local count = 0
local resumers = {} -- of the running coroutine, outermost first

local function frames(to, thread, level)
  local i = thread and debug.getinfo(thread, level, "nSl") or not thread and debug.getinfo(level + 1, "nSl")
  while i do
    if i.what == "C" then
      to[#to + 1] = "[C] (" .. (i.name or "?") .. ")"
    else
      local name = i.name or i.what == "main" and "main chunk" or "function <" .. i.short_src .. ":" .. i.linedefined .. ">"
      to[#to + 1] = i.short_src .. ":" .. i.currentline .. " (" .. name .. ")"
    end
    level = level + 1
    if thread then i = debug.getinfo(thread, level, "nSl") else i = debug.getinfo(level + 1, "nSl") end
  end
end

local function text()
  local t = { "[C] (remove)" }
  frames(t, nil, 2)
  for i = #resumers, 1, -1 do frames(t, resumers[i], 0) end
  if t[#t] == "[C] (?)" then t[#t] = nil end -- what has called the main chunk
  return table.concat(t, "|")
end

local function mark()
  count = count + 1
  own:write(BASE + count, " ", text(), "\n") os.remove("/nonexistent/names/" .. BASE + count)
  return count
end

local function resume(co, ...)
  resumers[#resumers + 1] = coroutine.running()
  coroutine.resume(co, ...)
  resumers[#resumers] = nil
end

local functions = {}
local function call(d)
  if d <= 0 or count >= N or math.random() < 0.15 then return mark() end
  return (functions[math.random(#functions)](d - 1))
end

local meta = {}
for _, m in ipairs { "add", "sub", "concat", "unm", "len", "eq", "lt", "le", "index", "newindex" } do
  meta["__" .. m] = function(a, b)
    local v = type(a) == "table" and a or b
    call(rawget(v, "depth"))
    return true
  end
end
meta.__call = function(self) call(rawget(self, "depth")) end
meta.__tostring = function(self) call(rawget(self, "depth")) return "x" end

local ways = {
  "call(d)", "return call(d)", "table.sort({2, 1}, function(a, b) call(d) return a < b end)", "pcall(call, d)", "(function() call(d) end)()",
  "local x = value(d) + 1", "local x = value(d) .. 's'", "local x = -value(d)", "local x = #value(d)", "local x = value(d) == value(d)",
  "local x = value(d) < value(d)", "local x = value(d).missing", "value(d).missing = 1", "value(d)()", "tostring(value(d))",
  "resume(coroutine.create(function() call(d) end))", "resume(coroutine.create(call), d)", "for i in function(_, n) if not n then call(d) return 1 end end do end",
  "local t = {} function t:method() call(d) end t:method()", "local t = {f = {g = call}} t.f.g(d)", "local k = 'key' local t = {[k] = call} t[k](d)",
  "('ab'):gsub('a', function() call(d) end)", "load('call(d)', '=text', 't', {call = call, d = d})()", "xpcall(error, function() call(d) end)",
  "for i = 1, 2 do call(d - i) end", "while true do call(d) break end", "select(2, pcall(call, d))", "local up = call local function inner() up(d) end inner()",
}

local function value(d) return setmetatable({ depth = d }, meta) end

local function letters(a, n) return a:rep(math.random(n)) end

local function function_make(n)
  local name = "function_with_a_long_name_" .. letters(n % 2 == 0 and "a" or "b", 60) .. "_" .. n
  local file = "/srv/" .. letters(n % 2 == 0 and "x" or "y", 30) .. "/module_" .. n % 97 .. ".lua"
  local source = ("\n"):rep(math.random(0, 500)) .. "local function " .. name .. "(d)\n" .. ("\n"):rep(math.random(0, 200)) .. ways[math.random(#ways)]
    .. " end\nreturn " .. (math.random(2) == 1 and name or "function(d) " .. name .. "(d) end")
  return assert(load(source, "@" .. file, "t", setmetatable({ call = call, value = value, resume = resume }, { __index = _G })))()
end

for n = 1, 60 do functions[n] = function_make(n) end
local n = 60
mark()
local function met() local f = io.open("met") if f then f:close() end return f end
for _ = 1, 6000 do
  if met() then break end
  os.execute("sleep 0.02")
end
while count < N do
  call(math.random(1, 13))
  for _ = 1, math.random(0, 2) do
    functions[math.random(#functions)] = function_make(n)
    n = n + 1
  end
end
mark()
