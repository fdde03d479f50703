"""nginx and Apache as Debian packages them, each on loopback with a configuration of its own.

Nothing of the machine's is touched: configuration, logs, lock and temporary files stand in one
fresh directory, the ports are free ones, and both programs run as a child in the foreground, as
root or not. What the server itself noted about each request is `WebServer.requests()`, the second
opinion beside our own log.
"""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
import pytest
from website import Files

_PATH: Final = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin"
NGINX: Final = shutil.which("nginx", path=_PATH)
APACHE: Final = shutil.which("apache2", path=_PATH)
APACHE_MODULES: Final = Path("/usr/lib/apache2/modules")
NGINX_MISSING: Final = "nginx is not on this machine: apt-get install nginx-light"
APACHE_MISSING: Final = "Apache is not on this machine: apt-get install apache2-bin"
needs_nginx: Final = pytest.mark.skipif(NGINX is None, reason=NGINX_MISSING)
needs_apache: Final = pytest.mark.skipif(APACHE is None, reason=APACHE_MISSING)

MODIFIED: Final = 1_767_225_600  # each file's date, so that validators agree between runs
START_SECONDS: Final = 30.0
NOBODY: Final = 65534


class ServerError(RuntimeError):
    """The server is absent or did not come up; the text says why and what to try."""


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """One line of a server's access log."""

    msec: float  # Unix time at which the answer had been sent, seconds
    request_time: float  # seconds since the first byte of the request was read
    address: str  # the server's own, that was asked
    connection: str  # requests over one connection share it (nginx only)
    request: str
    status: int
    request_length: int  # bytes of the request: its line, its fields and its body
    http_user_agent: str
    http_signature_input: str

    @property
    def target(self) -> str:
        """What was asked for, as it was sent."""
        return self.request.split(" ")[1]

    @property
    def began(self) -> float:
        """Unix time at which the first byte of the request was read, seconds."""
        return self.msec - self.request_time


@dataclass(frozen=True, kw_only=True)
class WebServer:
    """A server that runs, and what it wrote down."""

    addresses: tuple[str, ...]
    port: int
    directory: Path

    def url(self, target: str = "/", address: str | None = None) -> str:
        """Give the URL of a target, at the first address unless another is named."""
        return f"http://{address or self.addresses[0]}:{self.port}{target}"

    @property
    def access_log(self) -> Path:
        """Where the server writes a line about each request."""
        return self.directory / "access.log"

    def requests(self, at_least: int = 0, within: float = 5.0) -> list[Access]:
        """Read the requests answered so far, in the order of the log.

        A server writes its line after the answer has left, so a client may be here first: waits
        for `at_least` lines. Raises `ServerError` when they do not come `within` seconds.
        """
        deadline = time.monotonic() + within
        while len(lines := self._whole_lines()) < at_least:
            if time.monotonic() > deadline:
                raise ServerError(f"{len(lines)} requests in the log, {at_least} expected")
            time.sleep(0.01)
        return [msgspec.json.decode(line, type=Access) for line in lines]

    def _whole_lines(self) -> list[bytes]:
        return self.access_log.read_bytes().split(b"\n")[:-1]

    def errors(self) -> str:
        """Read what the server complained about so far."""
        return (self.directory / "error.log").read_text(errors="replace")


@contextmanager
def nginx(
    sites: Mapping[str, Files], *, directives: str = "", at: Mapping[str, str] | None = None
) -> Iterator[WebServer]:
    """Serve each address's files by nginx while the context lasts.

    `directives` stand in the http block, those of `at` in the server block of that address.
    Raises `ServerError` with nginx's own words when it does not start.
    """
    if NGINX is None:
        raise ServerError(NGINX_MISSING)
    program = NGINX

    def command(directory: Path, port: int) -> list[str]:
        blocks = "".join(
            f"  server {{ listen {address}:{port} backlog=511; root {directory}/{address};"
            f" {(at or {}).get(address, '')} }}\n"
            for address in sites
        )
        config = directory / "nginx.conf"
        config.write_text(_nginx_config(directory, directives, blocks))
        error_log = f"{directory}/error.log"
        return [program, "-e", error_log, "-p", str(directory), "-c", str(config)]

    with _serving(sites, command) as server:
        yield server


@contextmanager
def apache(sites: Mapping[str, Files], *, directives: str = "") -> Iterator[WebServer]:
    """Serve each address's files by Apache (event MPM) while the context lasts.

    `directives` stand at the end of the configuration. Raises `ServerError` with Apache's own
    words when it does not start.
    """
    if APACHE is None:
        raise ServerError(APACHE_MISSING)
    program = APACHE

    def command(directory: Path, port: int) -> list[str]:
        blocks = "".join(
            f"Listen {address}:{port}\n<VirtualHost {address}:{port}>\n"
            f"DocumentRoot {directory}/{address}\n</VirtualHost>\n"
            for address in sites
        )
        config = directory / "apache.conf"
        config.write_text(_apache_config(directory, blocks, directives))
        return [program, "-f", str(config), "-D", "FOREGROUND", "-E", f"{directory}/error.log"]

    with _serving(sites, command) as server:
        yield server


@contextmanager
def _serving(
    sites: Mapping[str, Files], command: Callable[[Path, int], list[str]]
) -> Iterator[WebServer]:
    with tempfile.TemporaryDirectory(prefix="callingcard-server-") as name:
        directory = Path(name)
        directory.chmod(0o755)  # as root, Apache's workers are somebody else
        for address, files in sites.items():
            _lay_out(directory / address, files)
        (directory / "temp").mkdir()
        (directory / "error.log").touch()
        addresses = tuple(sites)
        process, port = _start(directory, addresses, command)
        try:
            yield WebServer(addresses=addresses, port=port, directory=directory)
        finally:
            process.terminate()
            process.wait()


def _lay_out(root: Path, files: Files) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        os.utime(path, (MODIFIED, MODIFIED))


def _start(
    directory: Path, addresses: tuple[str, ...], command: Callable[[Path, int], list[str]]
) -> tuple[subprocess.Popen[bytes], int]:
    """Start the server on a free port; another one if somebody takes that in between."""
    while True:
        port = _free_port(addresses)
        with (directory / "error.log").open("ab") as errors:
            process = subprocess.Popen(
                command(directory, port), stdin=subprocess.DEVNULL, stdout=errors, stderr=errors
            )
        deadline = time.monotonic() + START_SECONDS
        while process.poll() is None and not _accepts(addresses[-1], port):
            if time.monotonic() > deadline:
                process.kill()
                process.wait()
                raise ServerError(f"no connection to port {port} within {START_SECONDS:.0f} s")
            time.sleep(0.01)
        if process.returncode is None:
            return process, port
        said = (directory / "error.log").read_text(errors="replace")
        if "Address already in use" not in said:
            raise ServerError(f"exit code {process.returncode} at the start: {said.strip()}")
        (directory / "error.log").write_text("")


def _accepts(address: str, port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) == 0


def _free_port(addresses: tuple[str, ...]) -> int:
    """Find a port that is free at every address."""
    while True:
        with socket.socket() as chosen:
            chosen.bind((addresses[0], 0))
            port = int(chosen.getsockname()[1])
            if all(_is_free(address, port) for address in addresses[1:]):
                return port


def _is_free(address: str, port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((address, port))
        except OSError:
            return False
        return True


def _nginx_config(directory: Path, directives: str, blocks: str) -> str:
    user = "user root;" if os.geteuid() == 0 else ""  # nobody may not read below a 0700 TMPDIR
    temp = "\n".join(
        f"  {kind}_temp_path {directory}/temp/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    return f"""\
daemon off;
{user}
worker_processes 1;
pid {directory}/nginx.pid;
error_log {directory}/error.log warn;
events {{ worker_connections 512; }}
http {{
  log_format wire escape=json '{{"msec":$msec,"request_time":$request_time,'
    '"address":"$server_addr","connection":"$connection","request":"$request",'
    '"status":$status,"request_length":$request_length,'
    '"http_user_agent":"$http_user_agent","http_signature_input":"$http_signature_input"}}';
  access_log {directory}/access.log wire;
{temp}
  types {{ text/html html; text/plain txt; application/xml xml; application/json json; }}
  default_type application/octet-stream;
  charset utf-8;
  etag on;
  tcp_nopush on;
  {directives}
{blocks}}}
"""


def _apache_config(directory: Path, blocks: str, directives: str) -> str:
    user = f"User #{NOBODY}\nGroup #{NOBODY}" if os.geteuid() == 0 else ""
    loaded = "\n".join(
        f"LoadModule {name}_module {APACHE_MODULES}/mod_{name}.so"
        for name in ("mpm_event", "authz_core", "dir", "mime")
    )
    # `%De-6` makes the microseconds of %D a JSON number of seconds
    return f"""\
ServerRoot {directory}
ServerName loopback.invalid
{loaded}
{user}
PidFile {directory}/apache.pid
DefaultRuntimeDir {directory}/temp
Mutex file:{directory}/temp default
ErrorLog {directory}/error.log
LogLevel warn
StartServers 1
ServerLimit 2
TypesConfig /dev/null
AddType text/html .html
AddType text/plain .txt
AddDefaultCharset utf-8
DirectoryIndex index.html
FileETag MTime Size
LogFormat "{{\\"msec\\":%{{end:sec}}t.%{{end:msec_frac}}t,\\"request_time\\":%De-6,\
\\"address\\":\\"%A\\",\\"connection\\":\\"\\",\\"request\\":\\"%r\\",\\"status\\":%>s,\
\\"request_length\\":%I,\\"http_user_agent\\":\\"%{{User-Agent}}i\\",\
\\"http_signature_input\\":\\"%{{Signature-Input}}i\\"}}" wire
CustomLog {directory}/access.log wire
{blocks}{directives}
"""
