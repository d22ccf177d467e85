"""A process that has loaded what all notebooks need, and forks itself into a kernel when one is wanted."""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import threading
import warnings


def wait(address: str) -> tuple[socket.socket, list[str]]:
    """Fork a child for each request, and return in the child; end when whoever started this has ended."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(address)
    server.listen()
    from polyhead_course import peers

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tqdm misses a progress bar
        for name in ("ipykernel.kernelapp", "matplotlib.pyplot", "transformers.models.bert.modeling_bert"):
            importlib.import_module(name)  # the last one with the many modules that all models share
    peers.d2l()
    gc.freeze()  # what is loaded stays: no kernel looks through it for what nobody needs
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        ready, _, _ = select.select([server, sys.stdin], [], [])
        if sys.stdin in ready:
            os._exit(0)
        client, _ = server.accept()
        if os.fork() == 0:
            server.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            return client, _taken_over(client)
        client.close()


def _taken_over(client: socket.socket) -> list[str]:
    """Take over the client's streams, folder and environment; its arguments."""
    length, streams, _, _ = socket.recv_fds(client, 4, 3)
    arguments: list[str]
    with client.makefile("rb") as request:
        arguments, folder, environment = json.loads(request.read(int.from_bytes(length, "big")))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    os.environ.pop("JPY_PARENT_PID", None)  # the client watches that one
    return arguments


def obey(client: socket.socket) -> None:
    """Be interrupted when the client is, and end with it."""
    while client.recv(1):
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)  # what it waits for ends
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Wait at the address given; then be a kernel."""
    client, arguments = wait(sys.argv[1])
    threading.Thread(target=obey, args=(client,), daemon=True).start()
    import matplotlib
    from ipykernel import kernelapp

    # matplotlib asks the environment when it is loaded, and that was before.
    matplotlib.rcParams["backend"] = "module://matplotlib_inline.backend_inline"
    sys.path[0] = ""
    sys.argv = [kernelapp.__file__, *arguments]
    kernelapp.launch_new_instance()


if __name__ == "__main__":
    main()
