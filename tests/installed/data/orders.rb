# SPDX-License-Identifier: MIT
class Item
  def initialize(number) = @number = number
end

class Order
  def initialize(id)
    @id, @items, @note = id, Array.new(100) { |n| Item.new(n) }, { "paid" => true }
  end
end

def known_here(order, word)
  $stdout.puts "ready"
  $stdout.flush
  $stdin.gets
end

def known_outer(id)
  known_here(Order.new(id), "word")
end

known_outer(4711)
