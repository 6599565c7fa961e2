"""A PostgreSQL server of the tests' own, started where its programs are installed."""

import asyncio
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import asyncpg

NOBODY = 65534  # PostgreSQL refuses to run as root
USER = "traintriage"
PATIENCE = 60  # seconds until a test gives up; nothing is measured by it
FAST = ("fsync=off", "full_page_writes=off", "deadlock_timeout=50ms")  # nothing on this server has to outlive a crash


def programs() -> Path | None:
    """The folder of initdb and postgres, the newest if there are several."""
    found = [Path(path) for path in (shutil.which("initdb"),) if path]
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    return found[-1].parent if found and (found[-1].parent / "postgres").exists() else None


class Server:
    """A server on a free port of loopback, with a folder of its own."""

    def __init__(self, folder: Path, options: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.password = secrets.token_hex(8)
        self.port = _free_port()
        self._programs = programs()
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._databases = 0

    def create(self) -> None:
        """Make its data folder."""
        password = self.folder / "password"
        password.write_text(self.password)
        if os.geteuid() == 0:
            for path in (self.folder, password):
                os.chown(path, NOBODY, NOBODY)
        secret = ("--auth=scram-sha-256", "--pwfile=password")
        made = self._called("initdb", "-U", USER, *secret, "--no-sync", "-E", "UTF8", "--locale=C")
        assert made.wait(PATIENCE) == 0, self._log()

    def start(self) -> None:
        """Start it, and wait until it takes connections."""
        options = (f"port={self.port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={self.folder}")
        settings = [part for option in (*options, "shared_buffers=16MB", *self._options) for part in ("-c", option)]
        self._process = self._called("postgres", *settings)
        # Its input ends when this process does, however: no server outlives the tests.
        script = 'read -r _; kill -QUIT "$1"; sleep 1; rm -rf "$2"'
        guard = ["sh", "-c", script, "sh", str(self._process.pid), str(self.folder)]
        self._guard = subprocess.Popen(guard, stdin=subprocess.PIPE, start_new_session=True)
        end = time.monotonic() + PATIENCE
        while not self._answers():
            assert self._process.poll() is None, self._log()
            assert time.monotonic() < end, "PostgreSQL did not start"
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it, connections or not; with SIGQUIT at once, what is not on the disk yet staying in its log."""
        if self._process is not None:
            self._process.send_signal(how)
            self._ended()

    def kill(self) -> None:
        """SIGKILL for the server and each of its processes, as when the machine goes down under them."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)  # it starts no more
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        for pid in (*children, self._process.pid):
            os.kill(int(pid), signal.SIGKILL)
        self._ended()
        while any(_runs(pid) for pid in children):
            time.sleep(0.01)

    def new_database(self, template: str = "template1", options: str = "") -> str:
        """The URL of a new database like ``template``, which is empty if not named."""
        self._databases += 1
        name = f"test{self._databases}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template} {options}")
        return self.url(name)

    def drop(self, url: str) -> None:
        """Remove a database."""
        self.execute(f"DROP DATABASE {url.rpartition('/')[2]} WITH (FORCE)")

    def url(self, database: str) -> str:
        return f"postgresql://{USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str, database: str = "postgres") -> list[asyncpg.Record]:
        """Run one statement."""

        async def work() -> list[asyncpg.Record]:
            connection = await asyncpg.connect(self.url(database))
            try:
                return list(await connection.fetch(statement))
            finally:
                await connection.close()

        return asyncio.run(work())

    def _ended(self) -> None:
        assert self._process is not None
        self._process.wait(PATIENCE)
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()

    def _log(self) -> str:
        return (self.folder / "log").read_text()[-2000:]

    def _answers(self) -> bool:
        try:
            self.execute("SELECT 1")
        except (OSError, asyncpg.PostgresError):
            return False
        return True

    def _called(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        assert self._programs is not None
        command = [str(self._programs / program), "-D", "data", *arguments]
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
                **user,
            )


@contextmanager
def server(*options: str) -> Iterator[Server]:
    """A running server; it and its folder go at the end."""
    # Not below the tests' folder, which only its owner enters; in memory if nothing has to outlive a crash.
    folder = Path(tempfile.mkdtemp(prefix="traintriage-pg-", dir=_memory() if options == FAST else None))
    found = Server(folder, options)
    try:
        found.create()
        found.start()
        yield found
    finally:
        found.stop(signal.SIGQUIT)
        shutil.rmtree(folder, ignore_errors=True)


def _memory() -> str | None:
    place = "/dev/shm"
    return place if Path(place).is_dir() and shutil.disk_usage(place).free > 2 << 30 else None


def _runs(pid: str) -> bool:
    """Whether the process is there, and not only the entry of one whose parent has not noticed its end."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
