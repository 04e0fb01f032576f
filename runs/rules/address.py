"""Whose address it is: one visitor, as far as an address can tell."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address, ip_network


def household(address: str) -> str:
    """The address itself; of IPv6 its /64 network, which one household or machine owns whole. "" when it is none."""
    try:
        found = ip_address(address.strip().strip("[]"))
    except ValueError:
        return ""
    if not isinstance(found, IPv6Address):
        return str(found)
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ip_network((int(found), 64), strict=False).network_address)
