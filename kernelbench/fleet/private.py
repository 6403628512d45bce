"""Who may talk to a fleet: Dask runs whatever a connected program sends, so only holders of the same key connect."""

from __future__ import annotations

import ipaddress
import os
import socket
import stat
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kernelbench.core.errors import InputError
from kernelbench.core.libraries import import_library

if TYPE_CHECKING:
    from distributed import Security


def make_tls(path: Path) -> None:
    """Write a new key and its certificate into one file that only its owner can read. InputError if it exists."""
    security = temporary()
    try:
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InputError(f"--make-tls {path}: cannot be written ({error.strerror}); name a new file") from error
    with open(opened, "w", encoding="ascii") as file:
        file.write(f"{security.tls_client_key}{security.tls_client_cert}")


def temporary() -> Security:
    """A key of this process alone, for a fleet on this host: other users of the host cannot connect."""
    from distributed import Security

    import_library("cryptography")  # Dask needs it for new keys alone
    return Security.temporary()


def security_of(address: str, tls: Path | None) -> Security:
    """How to talk to the scheduler at `address`, such as tls://node1:8786.

    `tls`: the file of `make_tls`, which every host of the fleet has. InputError if it is missing or open to other
    users, or if the address is not TLS and leads beyond this host.
    """
    from distributed import Security

    kind, host = _parts(address)
    if kind == "tls":
        if tls is None:
            raise InputError(f"{address}: TLS needs a key; name its file with --tls, `--make-tls FILE` makes one")
        name = str(_private_file(tls))
        roles = {f"tls_{role}_{what}": name for role in ("client", "worker", "scheduler") for what in ("cert", "key")}
        return Security(require_encryption=True, tls_ca_file=name, **roles)
    if tls is not None:
        raise InputError(f"--tls {tls}: {address} does not speak TLS; expected tls://HOST:PORT")
    if not _is_loopback(host):
        raise InputError(
            f"{address}: leads beyond this host, where any program that connects could run code; "
            "expected tls://HOST:PORT and --tls FILE"
        )
    return Security()


def _parts(address: str) -> tuple[str, str]:
    try:
        parts = urlsplit(address)
        kind, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:
        kind, host, port = "", None, None
    if kind not in ("tcp", "tls") or not host or not port:
        raise InputError(
            f"{address}: expected the address of a Dask scheduler, tls://HOST:PORT or tcp://127.0.0.1:PORT"
        )
    return kind, host


def _is_loopback(host: str) -> bool:
    """Whether every address of the host is of this machine alone."""
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return bool(found) and all(ipaddress.ip_address(str(one).partition("%")[0]).is_loopback for one in found)


def _private_file(path: Path) -> Path:
    try:
        found = path.stat()
    except OSError as error:
        raise InputError(f"--tls {path}: cannot be read ({error.strerror})") from error
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"--tls {path}: no regular file")
    if found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InputError(f"--tls {path}: other users can reach it; `chmod 600 {path}` first")
    return path.absolute()
