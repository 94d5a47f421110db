-- SPDX-License-Identifier: MIT
local usdt = require "usdt"
local provider = usdt.provider("shop", "server")
local sale = provider:probe("sell", "sale", "char *", "int")
provider:enable()
sale:fire("tea", 4)
