-- SPDX-License-Identifier: MIT
local Item, Order = { __name = "Item" }, { __name = "Order" }

local function order_new(id)
	local order = setmetatable({ id = id, items = {}, note = { paid = true } }, Order)
	for n = 0, 99 do
		order.items[n + 1] = setmetatable({ number = n }, Item)
	end
	return order
end

local function known_here(order, word)
	print("ready")
	io.stdout:flush()
	local line = io.read()
	return line, order, word
end

local function known_outer(id)
	local line = known_here(order_new(id), "word")
	return line
end

known_outer(4711)
