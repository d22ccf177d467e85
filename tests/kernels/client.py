"""What Jupyter starts and stops in a kernel's place: each of the two ends with the other."""

import json
import os
import signal
import socket
import sys


def main() -> None:
    """Ask for a kernel with our arguments, folder, environment and streams, and stay until it ends."""
    kernel = socket.socket(socket.AF_UNIX)
    kernel.connect(os.environ["POLYHEAD_KERNELS"])
    request = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
    socket.send_fds(kernel, [len(request).to_bytes(4, "big")], [0, 1, 2])
    kernel.sendall(request)
    signal.signal(signal.SIGINT, lambda *_: kernel.sendall(b"!"))
    kernel.recv(1)  # nothing is ever sent: it ends when the kernel does


if __name__ == "__main__":
    main()
