"""Several machines on one: a small cluster of Linux namespaces with a network between its nodes, for one command.

    python benchmarks/namespaces.py mpirun -n 8 python -m reference.ring_allreduce --size 1MiB
    python benchmarks/namespaces.py --nodes 2 --rate 100mbit ssh node1 ip address
    python benchmarks/namespaces.py bash        # a shell on the head of the cluster; `exit` ends the cluster

Node      A process with namespaces of its own (namespaces(7)): host name, network card, processes, shared memory. So
          two ranks on two nodes have only the network between them, as on two machines. They share cores and files.
Network   Each node has one card, e0, on a cable (veth(4)) to one switch, a bridge. A token bucket at both ends of the
          cable (tc-tbf(8)) lets `--rate` through each way. The head, where the command runs, is on the switch, too.
ssh       On the head, `ssh NODE COMMAND` runs a command on a node, so launchers find nodes as they find machines.
          Unlike the real one it hands the environment on. The list of nodes is known to mpirun: see HYDRA_HOST_FILE.
End       The cluster lives in namespaces that this program makes for itself. It touches nothing of the machine's own
          network, two clusters do not meet, and the kernel removes all of it when the program ends, even by kill -9.
Left out  Latency: the kernel at hand may lack netem, so a message takes what Linux takes, some tens of microseconds.

Needs Linux with iproute2, and root or a system that lets users make namespaces. Exit status: that of the command;
124 if it was stopped at the time limit, 1 if the cluster could not be built, 2 if there can be none on this machine.
"""

from __future__ import annotations

import argparse
import os
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

OWN = ["--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]  # of head and nodes
KINDS = ("net", "uts", "ipc", "mnt", "pid")  # of namespaces, by the names of the kernel
RUN = Path("/run")  # on the cluster an empty folder in memory, which is gone when the cluster is
SHAPE = "root tbf burst 128kb latency 50ms rate"  # a bucket that holds two of the 64 KiB that TCP sends in one piece
PACKAGES = {
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "hostname": "hostname",
    "ip": "iproute2",
    "tc": "iproute2",
}
SSH = """#!/bin/sh
# what a launcher needs of ssh: skip the options, go to the node, run the command
while getopts 46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:E:e:F:I:i:J:L:l:m:O:o:p:Q:R:S:W:w: option; do :; done
shift $((OPTIND - 1))
node=$1
shift
[ "$(hostname)" = head ] || { echo "ssh: there is a way from the head to the nodes, and no other" >&2; exit 255; }
pid=$(cat "/run/$node.pid" 2>&-) || { echo "ssh: there is no node '$node'" >&2; exit 255; }
export TMPDIR=/dev/shm  # a node has no other folder of its own
exec nsenter --target "$pid" --net --uts --ipc --mount --pid="/proc/$pid/ns/pid_for_children" \\
  sh -c "${*:-exec ${SHELL:-sh}}"
"""


class CannotBuild(Exception):
    """A step of building the cluster failed; the message names it."""


# Outside: ask, start, wait, end -----------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(
        description="Run a command on a cluster of network namespaces, which exists until the command ends.",
        epilog="try: python benchmarks/namespaces.py mpirun -n 8 python -m reference.ring_allreduce --size 1MiB",
    )
    p.add_argument("--nodes", type=number(2, 64), default=4, metavar="N", help="2 to 64 (default: 4)")
    p.add_argument("--slots", type=number(1, 1024), default=2, metavar="L", help="ranks a node takes (default: 2)")
    p.add_argument("--rate", type=rate, default="1gbit", help="of each cable, each way: 100mbit, 1gbit (the default)")
    p.add_argument("--limit", type=number(1, 10**6), default=600, metavar="S", help="seconds at most (default: 600)")
    p.add_argument("--inside", type=int, help=argparse.SUPPRESS)  # we are on the head; a pipe from our parent
    p.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND ...", help="what to run on the head")
    return p


def number(low: int, high: int):
    """A parser of whole numbers from low to high."""

    def parse(text: str) -> int:
        if not text.isdecimal() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {low:,} to {high:,}")
        return int(text)

    return parse


def rate(text: str) -> str:
    """ "100mbit" as it is. Raises ArgumentTypeError for what tc would not take for bits a second."""
    if not re.fullmatch(r"[1-9][0-9]*[kmg]?bit", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a rate; write bits a second: 500kbit, 100mbit or 1gbit")
    return text


def unshared() -> list[str]:
    """The command that starts another one in namespaces of its own; others than root are root in there."""
    return ["unshare", *([] if os.geteuid() == 0 else ["--map-root-user"]), *OWN]


def unavailable() -> str | None:
    """Why there can be no cluster on this machine, or None if there can."""
    if sys.platform != "linux":
        return f"network namespaces are part of Linux, and this is {sys.platform}"
    for program, package in PACKAGES.items():
        if shutil.which(program) is None:
            return f"`{program}` is missing; on Debian and Ubuntu: apt install {package}"
    parts = "ip link add v0 type veth peer name v1 && ip link add v2 type bridge"
    tried = subprocess.run(
        [*unshared(), "sh", "-c", f"{parts} && tc qdisc add dev v0 {SHAPE} 1mbit"],
        capture_output=True,
        text=True,
        timeout=20,
    )
    if tried.returncode:
        why = (tried.stderr.splitlines() or ["it does not say why"])[0]
        who = "even for root" if os.geteuid() == 0 else "for you; try as root"
        return f"the system makes no namespaces with a network {who}: {why}"
    return None


def outside(arguments: list[str]) -> int:
    """Start this program again on the head, and wait. If we are stopped or killed, the pipe closes, and it ends."""
    for asked in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(asked, lambda asked, frame: sys.exit(128 + asked))
    theirs, ours = os.pipe()
    os.write(ours, " ".join(namespaces()).encode())
    command = [*unshared(), sys.executable, __file__, "--inside", str(theirs), *arguments]
    with subprocess.Popen(command, pass_fds=[theirs]) as head:
        os.close(theirs)
        try:
            return head.wait()
        except KeyboardInterrupt:
            return 128 + signal.SIGINT
        finally:
            os.close(ours)  # `with` waits until the last process of the cluster is gone


# Inside: we are process 1 of the head, and all that we start ends with us -------------------------------------------


def namespaces() -> list[str]:
    """The namespaces that this process is in."""
    return [os.readlink(f"/proc/self/ns/{kind}") for kind in KINDS]


def not_inside(pipe: int) -> str:
    """Why this is not process 1 of namespaces that a parent made for it and told it of, or nothing.

    Whoever starts us with --inside by hand, as root, must not get the machine's own network rebuilt.
    """
    if os.getpid() != 1:
        return f"this is process {os.getpid()}, and not process 1 of a cluster"
    try:
        told = os.read(pipe, 4096).decode().split() if stat.S_ISFIFO(os.fstat(pipe).st_mode) else []
    except (OSError, UnicodeDecodeError):
        told = []
    if len(told) != len(KINDS):
        return "no parent has told which namespaces are its own"
    shared = [kind for kind, outer, own in zip(KINDS, told, namespaces()) if outer == own]
    return f"{', '.join(shared)}: still those of the parent" if shared else ""


def inside(options: argparse.Namespace) -> int:
    """Build the cluster and run the command on it; its exit status. Refuses to build outside of a cluster."""
    if why := not_inside(options.inside):
        print(f"namespaces.py: --inside is for this program itself: {why}; leave it out", file=sys.stderr)
        return 2
    signal.signal(signal.SIGINT, lambda *_: None)  # the command decides what Ctrl-C means; ours ends outside
    try:
        build(options.nodes, options.slots, options.rate)
        path = [RUN / "bin", Path(sys.executable).parent, os.environ["PATH"]]
        settings = {
            "PATH": ":".join(map(str, path)),
            "HYDRA_HOST_FILE": f"{RUN}/machines",  # MPICH
            "PRTE_MCA_prte_default_hostfile": f"{RUN}/machines.openmpi",  # Open MPI 5
        }
        command = subprocess.Popen(options.command, env=os.environ | settings)
    except (CannotBuild, OSError, subprocess.TimeoutExpired) as error:
        print(f"namespaces.py: {error}", file=sys.stderr)
        return 1
    end = time.monotonic() + options.limit
    while (status := command.poll()) is None:
        left_alone, *_ = select.select([options.inside], [], [], 0.02)
        if left_alone:
            return 1
        if time.monotonic() > end:
            print(f"namespaces.py: stopped after {options.limit} s; for more: --limit SECONDS", file=sys.stderr)
            return 124
    return status if status >= 0 else 128 - status


def build(nodes: int, slots: int, rate: str) -> None:
    """The head with its switch and its files, then the nodes. Raises CannotBuild."""
    shell(f"""
        mount -t tmpfs tmpfs {RUN}
        mount -t sysfs sysfs /sys  # the view of /sys/class/net that belongs to this network
        hostname head
        ip link set lo up
        ip link add switch type bridge
        ip link set switch up
        ip address add 10.0.0.254/24 dev switch
    """)
    names = [f"node{k}" for k in range(nodes)]
    addresses = {"127.0.0.1": "localhost", "10.0.0.254": "head", **{f"10.0.0.{k + 1}": n for k, n in enumerate(names)}}
    write("hosts", [f"{address} {name}" for address, name in addresses.items()])
    shell(f"mount --bind {RUN}/hosts /etc/hosts")
    write("machines", [f"{name}:{slots}" for name in names])
    write("machines.openmpi", [f"{name} slots={slots}" for name in names])
    (RUN / "bin").mkdir()
    write("bin/ssh", [SSH])
    (RUN / "bin/ssh").chmod(0o755)
    started = {name: start(name) for name in names}
    for k, (name, process) in enumerate(started.items()):
        connect(name, process, f"10.0.0.{k + 1}", rate)


def write(name: str, lines: list[str]) -> None:
    (RUN / name).write_text("\n".join(lines) + "\n")


def start(name: str) -> subprocess.Popen:
    """A node: a process that sleeps in namespaces of its own and says when it is ready. If it ends, the node does."""
    own = f"hostname {name}; mount -t sysfs sysfs /sys; mount -t tmpfs tmpfs /dev/shm; ip link set lo up"
    return subprocess.Popen(
        ["unshare", *OWN, "sh", "-ec", f"{own}; echo ready; exec sleep infinity"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )


def connect(name: str, node: subprocess.Popen, address: str, rate: str) -> None:
    """Lay the cable from the node's card e0 to the switch. Raises CannotBuild."""
    if node.stdout.readline() != b"ready\n":
        raise CannotBuild(f"{name} did not start")
    write(f"{name}.pid", [str(node.pid)])
    shell(f"""
        ip link add {name} type veth peer name e0 netns {node.pid}
        ip link set {name} master switch up
        tc qdisc add dev {name} {SHAPE} {rate}
        nsenter --target {node.pid} --net sh -ec '
            ip link set e0 up
            ip address add {address}/24 dev e0
            tc qdisc add dev e0 {SHAPE} {rate}'
    """)


def shell(script: str) -> None:
    """Run some lines, up to the first that fails. Raises CannotBuild with what it said."""
    done = subprocess.run(["sh", "-ec", script], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    if done.returncode:
        raise CannotBuild(f"the cluster could not be built: {' '.join(done.stderr.split())}")


def main() -> int:
    """Outside or inside; nothing to run is a question for help."""
    options = parser().parse_args()
    os.environ["PATH"] += ":/usr/sbin:/sbin"  # where ip and tc may be, and a user's PATH may not look
    if options.inside is not None:
        return inside(options)
    if not options.command:
        parser().print_help()
        return 0
    if reason := unavailable():
        print(f"namespaces.py: {reason}", file=sys.stderr)
        return 2
    return outside(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
