# SPDX-License-Identifier: MIT
"""What can be tested without a tracer: python3 -m unittest test_usdt"""
import gc
import os
import unittest

import usdt


class Api(unittest.TestCase):
    def make(self, *types):
        provider = usdt.Provider("test", "mod")
        probe = usdt.Probe("func", "name", *types)
        provider.add_probe(probe)
        provider.enable()
        return provider, probe

    def test_names(self):
        provider, probe = self.make()
        self.assertEqual((provider.name, provider.module), ("test", "mod"))
        self.assertEqual((probe.name, probe.function), ("name", "func"))
        self.assertEqual(usdt.Provider().name, "python")

    def test_disabled(self):
        _, probe = self.make("char *", "int")
        self.assertIs(probe.is_enabled(), False)
        for args in ((), ("a", 1), (1, "a"), (["a", 1],), (None, object()), ("a", 1, 2, 3)):
            self.assertIsNone(probe.fire(*args))

    def test_types(self):
        for types in ((), ("int",), (["int", "char *"],), (("int",), "string")):
            self.make(*types)
        self.make(*["int"] * usdt.ARG_MAX)
        with self.assertRaises(ValueError):
            usdt.Probe("func", "name", *["int"] * (usdt.ARG_MAX + 1))
        with self.assertRaises(TypeError):
            usdt.Probe("func")
        with self.assertRaises(TypeError):
            usdt.Probe("func", "name", 5)

    def test_life(self):
        provider, probe = self.make("int")
        with self.assertRaises(usdt.Error):
            provider.remove_probe(probe)  # it is enabled
        provider.disable()
        probe.fire(1)
        provider.remove_probe(probe)
        with self.assertRaises(usdt.Error):
            provider.remove_probe(probe)
        probe.fire(1)
        provider.add_probe(probe)
        provider.enable()
        with self.assertRaises(usdt.Error):
            usdt.Provider().add_probe(probe)  # it has a provider
        with self.assertRaises(TypeError):
            provider.add_probe("probe")

    def test_any_order_of_ends(self):
        provider, probe = self.make("int")
        del provider
        gc.collect()
        probe.fire(1)
        self.assertFalse(probe.is_enabled())
        provider, probe = self.make("int")
        del probe
        gc.collect()
        provider.disable()
        provider.enable()

    def test_half_made(self):
        probe, provider = usdt.Probe.__new__(usdt.Probe), usdt.Provider.__new__(usdt.Provider)
        probe.fire()
        self.assertFalse(probe.is_enabled())
        self.assertIsNone(probe.name)
        with self.assertRaises(usdt.Error):
            provider.enable()
        with self.assertRaises(usdt.Error):
            usdt.Provider().add_probe(probe)

    def test_many(self):
        for _ in range(200):
            provider = usdt.Provider("many")
            for n in range(20):
                provider.add_probe(usdt.Probe("f", f"p{n}", "int"))
            provider.enable()
        self.assertLess(len(os.listdir("/proc/self/fd")), 50)

    def test_fork(self):
        _, probe = self.make("int")
        pid = os.fork()
        if pid == 0:
            probe.fire(1)
            os._exit(0)
        self.assertEqual(os.waitpid(pid, 0)[1], 0)


if __name__ == "__main__":
    unittest.main()
