"""Candidates that do what no candidate should; each runs in a process of its own."""

from __future__ import annotations

import ctypes
import gc
import os
import re
import shutil
import signal
import sys
import threading
import time

import torch


def bare_except(query, key, value):
    while True:
        try:
            time.sleep(0.01)
        except:  # noqa: E722
            continue


def nested_excepts(query, key, value):
    while True:
        try:
            try:
                while True:
                    pass
            finally:
                while True:
                    try:
                        time.sleep(1)
                    except BaseException:
                        continue
        except BaseException:
            continue


def backtracking(query, key, value):
    re.match("(a+)+$", "a" * 60 + "b")  # in C, without an end


def summing(query, key, value):
    return sum(range(10**12))  # in C, without a look at signals


def deaf(query, key, value):
    for number in range(1, signal.NSIG):
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError):
                continue
    signal.setitimer(signal.ITIMER_REAL, 0)
    while True:
        time.sleep(1)


def stopped(query, key, value):
    os.kill(os.getpid(), signal.SIGSTOP)


def killed(query, key, value):
    os.kill(os.getpid(), signal.SIGKILL)


def exiting(query, key, value):
    sys.exit("no")


def leaving(query, key, value):
    os._exit(0)


def aborting(query, key, value):
    os.abort()


def interrupting(query, key, value):
    raise KeyboardInterrupt


def reading_nowhere(query, key, value):
    return ctypes.string_at(0)


def recursive(query, key, value):
    return recursive(query, key, value)


def overflowing(query, key, value):
    sys.setrecursionlimit(10**9)
    return recursive(query, key, value)


def allocating(query, key, value):
    return torch.zeros(10**13)


def growing(query, key, value):
    kept = []
    while True:
        kept.append(bytearray(10**8))


def printing(query, key, value):
    print("x" * 10**7)
    os.write(1, b"x" * 10**7)
    os.write(2, b"x" * 10**7)
    return (query @ key.mT).softmax(-1) @ value


def asking(query, key, value):
    return query * float(input())


def forking(query, key, value):
    if os.fork() == 0:
        time.sleep(1000)
    return (query @ key.mT).softmax(-1) @ value


def threading_on(query, key, value):
    def spin():
        while True:
            pass

    for _ in range(4):
        threading.Thread(target=spin).start()
    return (query @ key.mT).softmax(-1) @ value


def closing(query, key, value):
    os.closerange(0, 256)
    return (query @ key.mT).softmax(-1) @ value


def breaking(query, key, value):
    del torch.Tensor.softmax
    torch.allclose = None
    for thing in gc.get_objects():
        if type(thing).__name__ == "Trial":
            vars(thing).clear()
    return query


def moving(query, key, value):
    os.chdir("/")
    os.environ.clear()
    shutil.rmtree = time.sleep = None
    sys.modules.clear()
    sys.path.clear()
    return (query @ key.mT).softmax(-1) @ value


class Endless:
    """Has every attribute, and never ends."""

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **options):
        return self

    def __iter__(self):
        return self

    def __next__(self):
        return self


def endless(query, key, value):
    return [Endless(), Endless()], Endless()
