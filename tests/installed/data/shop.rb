# SPDX-License-Identifier: MIT
require 'usdt'
provider = USDT::Provider.create(:shop, :server)
sale = provider.probe(:sell, :sale, :string, :integer)
provider.enable
sale.fire('tea', 4)
