"""How nodes find one another over DDS: the environment variables of ROS 2, as a configuration of Cyclone DDS.

| variable | meaning |
|---|---|
| ROS_DOMAIN_ID | the domain, 0 by default |
| ROS_AUTOMATIC_DISCOVERY_RANGE | SUBNET (default), LOCALHOST, OFF, or SYSTEM_DEFAULT: nothing but CYCLONEDDS_URI |
| ROS_STATIC_PEERS | further hosts, separated by semicolons |
| ROS_LOCALHOST_ONLY | 1: as LOCALHOST, and no peers |
| CYCLONEDDS_URI | Cyclone's own configuration, which comes last and takes precedence |
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

HIGHEST_DOMAIN = 232
"""Higher domains would need ports that do not exist"""
MOST_PROCESSES = 32
"""The largest number of processes on one host, as in ROS 2's own middleware"""
RANGES = ("SUBNET", "LOCALHOST", "OFF", "SYSTEM_DEFAULT")
PEER = r"[\w.:%/-]{1,255}"
_domains: dict[int, Any] = {}
_joining = threading.Lock()


def domain_number(env: Mapping[str, str] = os.environ) -> int:
    """The domain of ROS 2."""
    given = env.get("ROS_DOMAIN_ID") or "0"
    if not given.isdecimal() or int(given) > HIGHEST_DOMAIN:
        raise ValueError(f"ROS_DOMAIN_ID: is {given!r}, must be a whole number from 0 to {HIGHEST_DOMAIN}")
    return int(given)


def discovery_settings(env: Mapping[str, str] = os.environ) -> str:
    """Cyclone's configuration; what is set in CYCLONEDDS_URI comes after ours."""
    local = env.get("ROS_LOCALHOST_ONLY") or "0"
    if local not in ("0", "1"):
        raise ValueError(f"ROS_LOCALHOST_ONLY: is {local!r}, must be 0 or 1")
    reach = "LOCALHOST" if local == "1" else env.get("ROS_AUTOMATIC_DISCOVERY_RANGE") or "SUBNET"
    if reach not in RANGES:
        raise ValueError(f"ROS_AUTOMATIC_DISCOVERY_RANGE: is {reach!r}, must be one of {', '.join(RANGES)}")
    peers = [] if local == "1" else [peer for peer in env.get("ROS_STATIC_PEERS", "").split(";") if peer]
    for peer in peers:
        if not re.fullmatch(PEER, peer):
            raise ValueError(f"ROS_STATIC_PEERS: has {peer!r}, must be hosts separated by semicolons")
    own = "" if reach == "SYSTEM_DEFAULT" else _settings(reach, peers)
    return ",".join(part for part in (own, env.get("CYCLONEDDS_URI", "")) if part)


def join_domain(domain: Any, number: int) -> None:
    """Configures a domain for this process; only the first call has an effect."""
    with _joining:
        if number not in _domains:
            _domains[number] = domain(number, discovery_settings())


def _settings(reach: str, peers: list[str]) -> str:
    general, discovery = "", f"<MaxAutoParticipantIndex>{MOST_PROCESSES}</MaxAutoParticipantIndex>"
    if reach == "OFF":  # other processes could find this one only by its tag
        general = "<AllowMulticast>false</AllowMulticast>"
        discovery = f"<ParticipantIndex>none</ParticipantIndex><Tag>ros_discovery_off_{os.getpid()}</Tag>"
        return _domain_settings(general, discovery)
    if reach == "LOCALHOST":
        peers = ["localhost", *peers]
        general = "<AllowMulticast>false</AllowMulticast>"
        if peers == ["localhost"]:  # nothing leaves this machine
            general = '<Interfaces><NetworkInterface name="lo"/></Interfaces>' + general
    discovery += "<ParticipantIndex>auto</ParticipantIndex>"
    if peers:
        discovery += f"<Peers>{''.join(f'<Peer address={quoteattr(peer)}/>' for peer in peers)}</Peers>"
    return _domain_settings(general, discovery)


def _domain_settings(general: str, discovery: str) -> str:
    domain = f"<General>{general}</General><Discovery>{discovery}</Discovery>"
    return f"<CycloneDDS><Domain>{domain}</Domain></CycloneDDS>"
