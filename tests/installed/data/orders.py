# SPDX-License-Identifier: MIT
import sys


class Item:
    def __init__(self, number):
        self.number = number


class Order:
    def __init__(self, id):
        self.id, self.items, self.note = id, [Item(n) for n in range(100)], {"paid": True}


def known_here(order, word):
    print("ready", flush=True)
    sys.stdin.readline()


def known_outer(id):
    known_here(Order(id), "word")


known_outer(4711)
