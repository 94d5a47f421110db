<?php
// SPDX-License-Identifier: MIT
class Item
{
	public $number;

	function __construct($number)
	{
		$this->number = $number;
	}
}

class Order
{
	public $id, $items, $note = ["paid" => true];

	function __construct($id)
	{
		$this->id = $id;
		$this->items = array_map(fn ($n) => new Item($n), range(0, 99));
	}
}

function known_here($order, $word)
{
	echo "ready\n";
	fgets(STDIN);
}

function known_outer($id)
{
	known_here(new Order($id), "word");
}

known_outer(4711);
