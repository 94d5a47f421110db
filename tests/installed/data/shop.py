# SPDX-License-Identifier: MIT
import usdt
provider = usdt.Provider("shop", "server")
sale = usdt.Probe("sell", "sale", "char *", "int")
provider.add_probe(sale)
provider.enable()
sale.fire("tea", 4)
