"""Which names mean this machine. Only literal addresses and `localhost` do: any other name can be pointed anywhere."""

import ipaddress


def is_loopback_host(host: str) -> bool:
    """True for `localhost`, 127.0.0.0/8 and ::1, written without brackets or port."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_loopback_name(authority: str) -> bool:
    """True if a Host header (`name`, `name:port`, `[v6]:port`) names this machine."""
    name, closing, rest = authority.strip().removeprefix("[").partition("]")
    if authority.strip().startswith("["):
        return bool(closing) and (not rest or _is_port(rest)) and is_loopback_host(name)
    name, colon, port = authority.strip().partition(":")
    return (not colon or _is_port(colon + port)) and is_loopback_host(name)


def _is_port(text: str) -> bool:
    return text.startswith(":") and text[1:].isascii() and text[1:].isdigit()
