"""What the comparisons under benches/peers share: running programs, taking turns, and summing up ratios."""

import json
import os
import statistics
import subprocess
import sys
import threading
import time

BENCHD = os.path.normpath(os.path.join(os.path.dirname(__file__), "../../target/release/benchd"))


class Finished:
    """A program that ended well: what it printed, its CPU time (with the processes it waited for) and peak memory."""

    def __init__(self, stdout, usage, peak_memory_bytes):
        self.stdout = stdout
        self.user_seconds = usage.ru_utime
        self.system_seconds = usage.ru_stime
        self.peak_memory_bytes = peak_memory_bytes

    @property
    def cpu_seconds(self):
        return self.user_seconds + self.system_seconds


def run(*command, directory=None):
    """Runs a program to its end. Its CPU time is that of wait4; its memory is VmHWM, looked at every 50 ms: the
    ru_maxrss of wait4 begins with the size of this script."""
    process = subprocess.Popen(command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    streams = {}

    def read(name, stream):
        streams[name] = stream.read()

    readers = [
        threading.Thread(target=read, args=(name, getattr(process, name)), daemon=True) for name in ("stdout", "stderr")
    ]
    for reader in readers:
        reader.start()
    peak = 0
    while True:
        peak = max(peak, peak_memory(process.pid))
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        time.sleep(0.05)
    process.returncode = os.waitstatus_to_exitcode(status)
    for reader in readers:
        reader.join()
    if process.returncode != 0:
        words = (streams["stdout"] + streams["stderr"]).strip()
        raise SystemExit(f"{' '.join(command)}: ended with {process.returncode}\n{words}")
    return Finished(streams["stdout"], usage, peak)


def peak_memory(pid):
    """The largest resident memory of a process so far in bytes; 0 when it has ended."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            return next((int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:")), 0)
    except (FileNotFoundError, ProcessLookupError):
        return 0


class Benchd:
    """The program under test with a configuration and a store of its own, removed with the folder. Runs are in the
    command itself: no daemon."""

    def __init__(self, program, folder, lines=""):
        if not os.access(program, os.X_OK):
            raise SystemExit(f"{program} is not there: build it with cargo build --release, or name another by --benchd")
        self.program = program
        self.config = os.path.join(folder, "benchd.toml")
        self.lines = f'server.socket = "{folder}/benchd.sock"\nstore.path = "{folder}/benchd.db"\n{lines}\n'
        self.configure("")

    def configure(self, more):
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(self.lines + more)

    def run(self, *arguments):
        """The first case of a run as `--output json` shows it, and the command as a whole."""
        finished = run(self.program, "--config", self.config, "run", "--local", *arguments, "--output", "json")
        case = json.loads(finished.stdout)["cases"][0]
        if case["outcome"] != "finished":
            raise SystemExit(f"benchd: {case['case']} {case['outcome']}: {case.get('failure')}")
        return case, finished

    def case(self, workload, keys):
        """The case of one workload, as hard as it can."""
        self.configure('[suite.peers]\nprofile = "lab"\n' + benchmark("peers", workload, keys))
        return self.run("peers")[0]

    def workloads(self):
        """The names of the workloads it has."""
        finished = run(self.program, "--config", self.config, "list", "workloads", "--output", "json")
        return {workload["workload"] for workload in json.loads(finished.stdout)["workloads"]}


def benchmark(suite, workload, keys):
    """A table of a suite, as TOML, which writes texts, numbers and lists of them as JSON does."""
    lines = [f"[[suite.{suite}.benchmark]]", f'workload = "{workload}"']
    return "\n".join(lines + [f"{key} = {json.dumps(value)}" for key, value in keys.items()]) + "\n"


def turns(number, sides):
    """The sides in the order in which they take turns: A B, B A, A B, …"""
    for turn in range(number):
        yield sides if turn % 2 == 0 else sides[::-1]


class Spread:
    """A median with the least and the most of the numbers it is of."""

    def __init__(self, numbers):
        self.median = statistics.median(numbers)
        self.least = min(numbers)
        self.most = max(numbers)

    def as_json(self):
        return {"median": self.median, "min": self.least, "max": self.most}

    def __str__(self):
        return f"{self.median:.3f} ({self.least:.3f}–{self.most:.3f})"


def ratio(ours, theirs):
    """The spread of the ratios turn by turn; `None` where a turn has no number."""
    pairs = list(zip(ours, theirs))
    if not pairs or any(not a or not b for a, b in pairs):
        return None
    return Spread([a / b for a, b in pairs])


def shown(number, digits=1):
    """A number, or what stands for one that is not known."""
    return "-" if number is None else f"{number:,.{digits}f}"


def table(head, rows):
    """Prints rows under their heads, the first column to the left."""
    lines = [head] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        cells = [cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip())


def write_json(path, document):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
        file.write("\n")


def say(text):
    """What goes on, beside the result."""
    print(text, file=sys.stderr, flush=True)
