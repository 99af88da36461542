"""The suite cannot reach any other machine."""

from __future__ import annotations

import socket

import pytest
from pytest_socket import SocketConnectBlockedError


def test_another_host_is_refused_at_once():
    with socket.socket() as client, pytest.raises(SocketConnectBlockedError):
        client.connect(("192.0.2.1", 80))
