# SPDX-License-Identifier: MIT
"""A program of asyncio for python_async.sh. It knows who waits for whom because each of its functions that waits says so before, and which
coroutines wait in a task because Python says it (cr_await). At points it writes the stack down that it expects, and makes a system call."""
import asyncio, contextlib, functools, gc, os, sys, threading, time, types

out = open(sys.argv[1], "w", encoding="utf-8")
waits_for = {}  # task: the one that waits for it
RUN = asyncio.events.Handle._run.__code__
IN_C = asyncio.tasks._CTask
AT_MOST = 64


def line(code, number, prefix=""):
    return f"{prefix}{code.co_filename}{f':{number}' if number else ''} ({code.co_name})"


def frame_of(x):
    for kind in ("cr", "gi", "ag"):
        if hasattr(x, kind + "_frame"):
            return getattr(x, kind + "_frame")


def next_of(x):
    """The coroutine or generator that x waits for."""
    for kind in ("cr_await", "gi_yieldfrom", "ag_await"):
        if hasattr(x, kind):
            x = getattr(x, kind)
            break
    if type(x).__name__ in ("async_generator_asend", "async_generator_athrow", "coroutine_wrapper"):
        x = [o for o in gc.get_referents(x) if frame_of(o)][0]
    return x if frame_of(x) else None


def waiting(task):
    """The lines of those who wait for a task, innermost first."""
    lines = []
    while isinstance(task, IN_C) and isinstance(waits_for.get(task), IN_C):
        task = waits_for[task]
        own, x = [], task.get_coro()
        while x:
            own.append(line(frame_of(x).f_code, frame_of(x).f_lineno, "async "))
            x = next_of(x)
        lines += own[::-1]
    return lines[:AT_MOST]


def note(f):
    frames = []
    while f:
        frames.append(line(f.f_code, f.f_lineno))
        if f.f_back and f.f_back.f_code is RUN:
            task = asyncio.current_task()
            if task and f is frame_of(task.get_coro()):
                frames += waiting(task)
        f = f.f_back
    out.write("|".join(frames) + "\n")


def point(*unused):
    note(sys._getframe(1)); os.getppid()
    return 0


def task_of(coro):
    """A task that the present one is going to wait for."""
    task = asyncio.ensure_future(coro)
    waits_for[task] = asyncio.current_task()
    return task


async def leaf():
    point()
    await asyncio.sleep(0)
    point()
    await asyncio.sleep(0.001)
    point()


async def nested(n, coro):
    if n:
        return await nested(n - 1, coro)
    return await coro


async def tasks(n, depth=0):
    """n tasks, each waiting for the next with some coroutines."""
    if n == 0:
        return await leaf()
    await nested(depth, task_of(tasks(n - 1, depth)))


async def several():
    point()
    await asyncio.gather(task_of(leaf()), task_of(tasks(1)))
    await asyncio.gather(asyncio.gather(task_of(leaf())), asyncio.sleep(0))
    await asyncio.wait([task_of(leaf()), task_of(leaf())])
    await asyncio.wait([task_of(leaf()), task_of(asyncio.sleep(0.002))], return_when=asyncio.FIRST_COMPLETED)
    await asyncio.wait_for(task_of(leaf()), 100)
    await asyncio.shield(task_of(leaf()))
    task = task_of(leaf())
    task.add_done_callback(lambda t: None)
    for i in range(5):
        task.add_done_callback(functools.partial(lambda a, t: None, i))
    await nested(1, task)
    await asyncio.sleep(0.001)


async def nobody():
    """Tasks for which nobody waits, though a function with a name of asyncio's or a group of tasks is called at the end of each."""
    task = asyncio.ensure_future(leaf())
    await asyncio.sleep(0.01)
    future = asyncio.get_running_loop().create_future()

    def _done_callback(*unused):
        future.set_result(None)

    task = asyncio.ensure_future(leaf())
    task.add_done_callback(functools.partial(lambda a, t: None, future))
    task.add_done_callback(_done_callback)
    await future
    event = asyncio.Event()

    async def sets():
        await leaf()
        event.set()

    task = asyncio.ensure_future(sets())
    await event.wait()
    asyncio.get_running_loop().call_soon(point)
    asyncio.get_running_loop().call_later(0.001, point)
    await asyncio.sleep(0.005)
    # gather() that nobody waits for yet
    both = asyncio.gather(leaf(), leaf())
    await asyncio.sleep(0.01)
    await both


async def groups():
    class Group(asyncio.TaskGroup):
        def __init__(self):
            self.first = asyncio.get_running_loop().create_future()
            super().__init__()

    async def other(group):
        await group.first

    async with asyncio.TaskGroup() as g:
        waits_for[g.create_task(leaf())] = asyncio.current_task()
        waits_for[g.create_task(inner_group())] = asyncio.current_task()
    async with Group() as g:
        rest = asyncio.ensure_future(other(g))
        g.create_task(leaf())
        await asyncio.sleep(0.01)
        waits_for[g.create_task(leaf())] = asyncio.current_task()
    g.first.set_result(None)
    await rest
    async with asyncio.TaskGroup() as g:
        task = g.create_task(tasks(1))
        waits_for[task] = asyncio.current_task()
        await task


async def inner_group():
    async with asyncio.TaskGroup() as g:
        waits_for[g.create_task(tasks(2, 1))] = asyncio.current_task()


async def numbers(coro):
    """An asynchronous generator that waits."""
    yield 1
    await coro
    yield 2


@contextlib.asynccontextmanager
async def manager(coro):
    await nested(1, coro)
    yield


class Awaitable:
    """Waits by a generator; by a coroutine's wrapper."""

    def __init__(self, coro, wrapped):
        self.coro, self.wrapped = coro, wrapped

    def __await__(self):
        return nested(1, self.coro).__await__() if self.wrapped else self.steps()

    def steps(self):
        yield from self.coro.__await__()


def blocking(future):
    future._asyncio_future_blocking = True
    yield future


@types.coroutine
def iterates(future):
    """Is suspended in a loop over a generator, for which it does not wait."""
    for x in blocking(future):
        yield x


async def ways():
    async for n in numbers(task_of(leaf())):
        pass
    async for n in numbers(nested(2, task_of(tasks(1, 2)))):
        pass
    async with manager(task_of(leaf())):
        pass
    await Awaitable(task_of(leaf()), False)
    await Awaitable(task_of(leaf()), True)
    await nested(1, iterates(task_of(leaf())))
    for n in 5, 6, 7, 8, 13, 14, 15, 20, 50:
        await nested(n, task_of(leaf()))


async def raises():
    try:
        await leaf()
        raise ValueError
    except ValueError:
        point()
        raise
    finally:
        await leaf()


async def lingers():
    try:
        await asyncio.sleep(100)
    except asyncio.CancelledError:
        point()
        await leaf()
        raise


async def exceptions():
    try:
        await task_of(raises())
    except ValueError:
        await nested(2, task_of(leaf()))
    task = task_of(lingers())
    await asyncio.sleep(0)
    asyncio.get_running_loop().call_later(0.001, asyncio.current_task().cancel)
    try:
        await task
    except asyncio.CancelledError:
        if hasattr(asyncio.Task, "uncancel"):
            asyncio.current_task().uncancel()
        await task_of(leaf())


class Own(asyncio.Task):
    pass


async def own_tasks():
    asyncio.get_running_loop().set_task_factory(lambda loop, coro, **kw: Own(coro, loop=loop, **kw))
    await tasks(3, 1)
    if sys.version_info >= (3, 12):
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
        await asyncio.sleep(0)
        await tasks(2)


async def in_python():
    """Tasks that are not those of the module in C are not known."""
    asyncio.get_running_loop().set_task_factory(lambda loop, coro, **kw: asyncio.tasks._PyTask(coro, loop=loop, **kw))
    await tasks(2)
    task = IN_C(leaf(), loop=asyncio.get_running_loop())
    waits_for[task] = asyncio.current_task()
    await task
    asyncio.get_running_loop().set_task_factory(None)
    await tasks(1)


async def main():
    await leaf()
    await tasks(3)
    await tasks(3, 2)
    await tasks(30)
    await tasks(15, 2)
    await tasks(70)
    await several()
    await nobody()
    await ways()
    await exceptions()
    if sys.version_info >= (3, 11):
        await groups()
    await own_tasks()
    await task_of(in_python())


async def threads():
    """Loops in threads, while that of the main thread stands in a step of a task for which others wait."""
    for n in range(3):
        thread = threading.Thread(target=asyncio.run, args=(tasks(n + 1, 1),))
        thread.start()
        thread.join()
        point()


# the first stack, after which the tracer looks at the process
def wait(file):
    for i in range(6000):
        if not os.path.exists(file):
            time.sleep(0.02)


wait(sys.argv[2])
os.getppid()
wait(sys.argv[3])
asyncio.run(main())
out.close()
