"""A throw-away MariaDB for comparisons, and what it costs: its CPU time and the bytes it wrote."""

import contextlib
import os
import pwd
import shutil
import subprocess
import time

START_LIMIT = 60


class Server:
    """A server of this machine, reached by its socket as root without a password."""

    def __init__(self, path, process):
        self.socket = path
        self.process = process

    def ask(self, text):
        command = ["mariadb", "--no-defaults", f"--socket={self.socket}", "--user=root", "--batch"]
        command += ["--skip-column-names", "-e", text]
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def must(self, text):
        answer = self.ask(text)
        if answer.returncode != 0:
            raise SystemExit(f"{text}: {answer.stderr.strip()}")
        return answer.stdout.strip()

    def cpu_seconds(self):
        """User and system time of the server's process so far."""
        with open(f"/proc/{self.process.pid}/stat", encoding="utf-8") as stat:
            fields = stat.read().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def written_bytes(self):
        """What the server had written to its disks so far; 0 where the kernel does not tell."""
        try:
            with open(f"/proc/{self.process.pid}/io", encoding="utf-8") as io:
                return next((int(line.split()[1]) for line in io if line.startswith("write_bytes:")), 0)
        except OSError:
            return 0


@contextlib.contextmanager
def own_server(folder, options):
    """A MariaDB with these options, ended afterwards; as an unprivileged account when started by root."""
    account = {}
    home = os.path.join(folder, "server")
    os.mkdir(home)
    if os.getuid() == 0:
        nobody = pwd.getpwnam("nobody")
        account = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        os.chown(home, nobody.pw_uid, nobody.pw_gid)
        os.chmod(folder, 0o711)
    data, path, log = (os.path.join(home, name) for name in ("data", "s", "log"))
    install = ["mariadb-install-db", "--no-defaults", f"--datadir={data}", "--skip-test-db"]
    install.append("--auth-root-authentication-method=normal")
    made = subprocess.run(install, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **account)
    if made.returncode != 0:
        raise SystemExit(f"mariadb-install-db: {made.stdout}")
    program = shutil.which("mariadbd", path=os.environ.get("PATH", "") + ":/usr/sbin") or "mariadbd"
    command = [program, "--no-defaults", f"--datadir={data}", f"--tmpdir={home}", f"--socket={path}"]
    command += [f"--log-error={log}", f"--pid-file={home}/pid", "--skip-networking", *options]
    process = subprocess.Popen(command, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **account)
    try:
        server = Server(path, process)
        wait_for(server, log)
        yield server
    finally:
        process.terminate()
        process.wait()


def wait_for(server, log):
    until = time.monotonic() + START_LIMIT
    while server.ask("SELECT 1").returncode != 0:
        if server.process.poll() is not None or time.monotonic() > until:
            with open(log, encoding="utf-8", errors="replace") as file:
                raise SystemExit(f"the server did not start:\n{file.read()[-2000:]}")
        time.sleep(0.1)
