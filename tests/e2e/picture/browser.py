# SPDX-License-Identifier: MIT
"""A headless Chromium for the tests of pictures, driven over WebDriver with the standard library alone.

    from browser import Browser
    with Browser() as b:                     exits with status 67 (skipped) where Chromium is missing
        b.open("/tmp/x.svg"); b.run("return document.title"); b.move(100, 200); b.click(100, 200)
        b.screenshot("/tmp/x.png")

Facts     the protocol: W3C WebDriver. Coordinates are those of the view, in CSS pixels.
"""
import base64, json, os, shutil, signal, subprocess, sys, tempfile, time, urllib.request


class Browser:
    def __init__(self, width=1280, height=900, dark=False, scripts=True):
        self.driver = shutil.which("chromedriver")
        if not self.driver or not shutil.which("chromium"):
            print("skipped: Debian's packages chromium and chromium-driver are not installed")
            sys.exit(67)
        self.size, self.dark, self.scripts = (width, height), dark, scripts

    def __enter__(self):
        self.home = tempfile.mkdtemp()
        self.process = subprocess.Popen([self.driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        env={**os.environ, "HOME": self.home}, start_new_session=True)
        for line in self.process.stdout:
            if "successfully on port" in line:
                self.base = "http://127.0.0.1:" + line.rstrip().rstrip(".").split()[-1]
                break
        args = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                f"--window-size={self.size[0]},{self.size[1]}", f"--user-data-dir={self.home}/profile"]
        if self.dark:
            args.append("--blink-settings=preferredColorScheme=0")
        prefs = {} if self.scripts else {"profile.managed_default_content_settings.javascript": 2}
        caps = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
                "goog:chromeOptions": {"args": args, "prefs": prefs}}
        value = self.call("POST", "/session", {"capabilities": {"alwaysMatch": caps}})
        self.session = "/session/" + value["sessionId"]
        self.call("POST", self.session + "/goog/cdp/execute",
                  {"cmd": "Emulation.setDeviceMetricsOverride",
                   "params": {"width": self.size[0], "height": self.size[1], "deviceScaleFactor": 1, "mobile": False}})
        return self

    def __exit__(self, *_):
        try:
            self.call("DELETE", self.session)
        finally:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait()
            shutil.rmtree(self.home, ignore_errors=True)

    def call(self, method, path, body=None):
        data = None if body is None and method != "POST" else json.dumps(body or {}).encode()
        request = urllib.request.Request(self.base + path, data=data, method=method, headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as e:
            raise RuntimeError(f"{path}: {e.read().decode()[:500]}") from None

    def open(self, path):
        self.call("POST", self.session + "/url", {"url": path if "://" in path else "file://" + os.path.abspath(path)})

    def run(self, script, *args):
        return self.call("POST", self.session + "/execute/sync", {"script": script, "args": list(args)})

    def errors(self):
        """What the page has complained of since the last call."""
        return [e["message"] for e in self.call("POST", self.session + "/se/log", {"type": "browser"}) if e["level"] == "SEVERE"]

    def screenshot(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("GET", self.session + "/screenshot")))

    def act(self, *actions):
        self.call("POST", self.session + "/actions",
                  {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": list(actions)}]})

    def move(self, x, y):
        self.act({"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)})

    def click(self, x, y):
        self.act({"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}, {"type": "pointerDown", "button": 0},
                 {"type": "pointerUp", "button": 0})

    def keys(self, text):
        """Types into the focused element; \ue00c is Escape."""
        down_up = [a for c in text for a in ({"type": "keyDown", "value": c}, {"type": "keyUp", "value": c})]
        self.call("POST", self.session + "/actions", {"actions": [{"type": "key", "id": "keys", "actions": down_up}]})

    def where(self, script):
        """The middle of an element that a script returns."""
        x, y, w, h = self.run("const r = (" + script + ").getBoundingClientRect(); return [r.x, r.y, r.width, r.height]")
        return x + w / 2, y + h / 2
