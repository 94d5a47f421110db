<?php
// SPDX-License-Identifier: MIT
$provider = new Usdt\Provider('shop', 'server');
$sale = $provider->probe('sell', 'sale', 'char *', 'int');
$provider->enable();
$sale->fire('tea', 4);
