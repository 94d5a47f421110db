# SPDX-License-Identifier: MIT
"""The kernel's NFS server, started by hand for one exported folder, and a client that calls it: neither needs a package."""
import os, socket, struct, threading, time

def portmapper():
    """Says yes to whoever registers: the kernel wants to tell a portmapper about its services."""
    server = socket.create_server(("127.0.0.1", 111))
    def serve(c):
        while (head := c.recv(4, socket.MSG_WAITALL)):
            call = c.recv(struct.unpack(">I", head)[0] & 0x7fffffff, socket.MSG_WAITALL)
            answer = call[:4] + struct.pack(">IIIIII", 1, 0, 0, 0, 0, 1)
            c.sendall(struct.pack(">I", 0x80000000 | len(answer)) + answer)
    def accept():
        while True: threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()

def write(path, text):
    fd = os.open(path, os.O_WRONLY)
    os.write(fd, text.encode())
    os.close(fd)

def start(folder):
    """Exports the folder as the root of all exports, starts one thread of the server, and returns the folder's handle."""
    portmapper()
    rpc, nfsd, never = "/proc/net/rpc/", "/proc/fs/nfsd/", 0x7fffffff
    write(rpc + "auth.unix.ip/channel", f"nfsd 127.0.0.1 {never} dom\n")
    write(rpc + "nfsd.fh/channel", f"dom 1 \\x00000000 {never} {folder}\n")
    write(rpc + "nfsd.export/channel", f"dom {folder} {never} {0x2412} 65534 65534 0\n")
    try: write("/proc/sys/fs/nfs/nlm_grace_period", "1\n")
    except OSError: pass # lockd takes its usual time
    write(nfsd + "portlist", "tcp 2049\n")
    write(nfsd + "threads", "1\n")
    try: write(nfsd + "v4_end_grace", "Y\n")
    except OSError: pass
    fd = os.open(nfsd + "filehandle", os.O_RDWR)
    os.write(fd, f"dom {folder} 64\n".encode())
    text = os.read(fd, 200).decode().strip()
    os.close(fd)
    return bytes.fromhex(text.replace("\\x", ""))

class Client:
    def __init__(self):
        self.sock = socket.create_connection(("127.0.0.1", 2049))
        self.sock.settimeout(60) # a call that is not answered
        self.xid = 1000
    def call(self, vers, proc, args=b""):
        self.xid += 1
        cred = struct.pack(">II4sIII", 0, 4, b"me\0\0", 0, 0, 0)
        call = struct.pack(">IIIIII", self.xid, 0, 2, 100003, vers, proc) + struct.pack(">II", 1, len(cred)) + cred + struct.pack(">II", 0, 0) + args
        self.sock.sendall(struct.pack(">I", 0x80000000 | len(call)) + call)
        size = struct.unpack(">I", self.sock.recv(4, socket.MSG_WAITALL))[0] & 0x7fffffff
        answer = self.sock.recv(size, socket.MSG_WAITALL)
        xid, kind, state, _, verf, accepted = struct.unpack(">IIIIII", answer[:24])
        assert (xid, kind, state, accepted) == (self.xid, 1, 0, 0), (xid, kind, state, accepted)
        return answer[24:]

def opaque(data): return struct.pack(">I", len(data)) + data + bytes(-len(data) % 4)

def grace_wait(client, root):
    """Clients of a server that was started may claim their locks for some time, in which nobody else may write."""
    while struct.unpack_from(">I", compound(client, op(22, opaque(root)), op(15, opaque(b"file")), op(38, bytes(16) + struct.pack(">QI", 0, 0) + opaque(b""))))[0] == 10013: time.sleep(0.1)

def end():
    write("/proc/fs/nfsd/threads", "0\n")

def good(a, at=0):
    """The answer of a call that must have succeeded."""
    assert struct.unpack_from(">I", a, at)[0] == 0, a
    return a

def op(n, args=b""): return struct.pack(">I", n) + args
def compound(client, *ops, minor=0): return client.call(4, 1, opaque(b"") + struct.pack(">II", minor, len(ops)) + b"".join(ops))
