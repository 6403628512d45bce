"""Who may talk to a fleet."""

import os
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

pytest.importorskip("distributed", reason="the extra fleet is not installed")
from distributed import Client

from kernelbench.core.errors import InputError
from kernelbench.fleet import engine, private
from kernelbench.fleet.gpus import named_gpus
from tests.fleet.conftest import LOCAL, dask, free_port, tls_options
from tests.processes import until


@pytest.fixture
def key(tmp_path: Path) -> Path:
    private.make_tls(tmp_path / "fleet.pem")
    return tmp_path / "fleet.pem"


def test_a_key_is_its_owners_alone_and_never_overwritten(key: Path) -> None:
    assert key.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InputError, match="name a new file"):
        private.make_tls(key)
    assert private.security_of("tls://10.0.0.1:8786", key).require_encryption
    key.chmod(0o640)
    with pytest.raises(InputError, match="other users can reach it"):
        private.security_of("tls://10.0.0.1:8786", key)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp://10.0.0.1:8786", "leads beyond this host"),
        ("tcp://no.such.host.invalid:8786", "leads beyond this host"),
        ("tls://10.0.0.1:8786", "TLS needs a key"),
        ("ucx://10.0.0.1:8786", "expected the address"),
        ("tcp://127.0.0.1", "expected the address"),
        ("tcp://[", "expected the address"),
        ("8786", "expected the address"),
    ],
)
def test_beyond_the_loopback_tls_is_required(address: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        private.security_of(address, None)


def test_the_loopback_needs_no_key_and_takes_none(key: Path, tmp_path: Path) -> None:
    assert not private.security_of("tcp://127.0.0.1:8786", None).require_encryption
    with pytest.raises(InputError, match="does not speak TLS"):
        private.security_of("tcp://127.0.0.1:8786", key)
    with pytest.raises(InputError, match="cannot be read"):
        private.security_of("tls://127.0.0.1:8786", tmp_path / "absent.pem")


@pytest.fixture
def scheduler(key: Path) -> Iterator[str]:
    """The address of a scheduler that was started as docs/many-gpus.md says."""
    port = free_port()
    words = ("--protocol", "tls", "--host", "127.0.0.1", "--port", port, *LOCAL, *tls_options(str(key)))
    process = dask("scheduler", *words)
    yield f"tls://127.0.0.1:{port}"
    process.terminate()
    process.communicate(timeout=60)


def test_strangers_cannot_connect(scheduler: str, key: Path, tmp_path: Path) -> None:
    def answers() -> bool:
        try:
            Client(scheduler, security=private.security_of(scheduler, key), timeout=2, set_as_default=False).close()
        except (OSError, TimeoutError):
            return False
        return True

    until(answers, 100)
    private.make_tls(tmp_path / "strangers.pem")
    for security in (private.security_of(scheduler, tmp_path / "strangers.pem"), private.temporary()):
        with pytest.raises((OSError, TimeoutError)):
            Client(scheduler, security=security, timeout=2, set_as_default=False)
    with pytest.raises((OSError, TimeoutError)):
        Client(scheduler.replace("tls", "tcp"), timeout=2, set_as_default=False)


def test_nothing_of_a_fleet_of_this_host_listens_beyond_the_loopback() -> None:
    with engine.of_this_host(named_gpus("simulated:h200,simulated:a100")) as client:
        (member, _) = engine.cluster_members(client)
        assert member.gpu.label == "a100"
        own = psutil.Process(os.getpid())
        heard = [
            one.laddr.ip
            for process in (own, *own.children(recursive=True))
            for one in process.net_connections()
            if one.status == psutil.CONN_LISTEN
        ]
    assert len(heard) >= 4
    assert set(heard) == {"127.0.0.1"}
