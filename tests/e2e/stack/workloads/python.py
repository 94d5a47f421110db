# SPDX-License-Identifier: MIT
# python.py server|compiler|tests EVERY MOST: a workload that writes down its own stack at each EVERY-th call of a function.
import itertools, os, sys, threading, time, urllib.request

out = os.open("noted", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
calls, points = itertools.count(1), itertools.count(1)
every, most, what = int(sys.argv[2]), int(sys.argv[3]), sys.argv[1]

def workload_point(frame, event, arg):
    if event != "call" or next(calls) % every:
        return
    n = next(points)
    if n > most:
        return
    frames = []
    while frame:
        line = f":{frame.f_lineno}" if frame.f_lineno is not None else ""
        frames.append(f"{frame.f_code.co_filename}{line} ({frame.f_code.co_name})")
        frame = frame.f_back
    os.write(out, f"POINT:{n:06} {'|'.join(frames)}\n".encode())

def wait():
    """The first stack tells the tracer of this process."""
    os.write(out, b"POINT:000000 \n")
    for i in range(6000):
        if not os.path.exists("met"):
            time.sleep(0.02)

def server():
    import http.server
    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *unused): pass
    class Server(http.server.ThreadingHTTPServer):
        request_queue_size = 64
    with Server(("127.0.0.1", 0), Handler) as served:
        threading.Thread(target=served.serve_forever).start()
        url = f"http://127.0.0.1:{served.server_address[1]}/"
        def load():
            for i in range(60): urllib.request.urlopen(url + ("met" if i % 2 else "")).read()
        clients = [threading.Thread(target=load) for i in range(4)]
        for c in clients: c.start()
        for c in clients: c.join()
        served.shutdown()

def compiler():
    import ast, lib2to3.refactor, shlex, string
    tool = lib2to3.refactor.RefactoringTool(lib2to3.refactor.get_fixers_from_package("lib2to3.fixes"))
    for module in (shlex, string):
        text = open(module.__file__).read()
        ast.unparse(ast.parse(text))
        tool.refactor_string(text, module.__file__)

def tests():
    import unittest, pyflakes.test
    suite = unittest.defaultTestLoader.discover(os.path.dirname(pyflakes.test.__file__), top_level_dir=os.path.dirname(os.path.dirname(pyflakes.__file__)))
    unittest.TextTestRunner(stream=open(os.devnull, "w")).run(suite)

sys.setrecursionlimit(5000)
wait()
threading.setprofile(workload_point)
sys.setprofile(workload_point)
globals()[what]()
sys.setprofile(None)
