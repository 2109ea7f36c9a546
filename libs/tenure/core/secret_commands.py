"""Programs that take a password as an argument, and where in their command line it stands.

Data for `tenure.core.secret_names`: patterns whose group `value` is the password.
"""

import re
from collections.abc import Iterator

_WORD = r"(?P<quote>[\"']?)(?P<value>(?:(?!</)[^\s\"'`]){1,256})(?P=quote)"
_REST = r"[^\n|;&]{0,512}?\s"
"""Arguments before the one that counts, on one line and within one command."""

_PATTERNS: tuple[tuple[str, str], ...] = (
    # (a lower-case word without which the line is not looked at, the pattern)
    (
        "curl",
        r"\bcurl\b[^\n]{0,512}?\s(?:-u|--user|--proxy-user)[ =]{0,4}[\"']?[^\s:\"']{1,128}:(?P<value>[^\s\"']{1,256})",
    ),
    ("mysql", r"\bmysql(?:dump|admin|import|sh)?\b[^\n]{0,256}?\s-p(?P<value>[^\s\"']{3,256})"),
    (
        "mysql",
        r"\bmysql(?:dump|admin|import|sh)?\b[^\n]{0,256}?\s-p(?P<quote>[\"'])(?P<value>[^\s\"']{3,256})(?P=quote)",
    ),
    ("mariadb", r"\bmariadb(?:-\w+)?\b[^\n]{0,256}?\s-p[\"']?(?P<value>[^\s\"']{3,256})"),
    ("sshpass", r"\bsshpass\s{1,8}-p[ =]{0,4}[\"']?(?P<value>[^\s\"']{1,256})"),
    ("pass:", rf"\s-(?:pass(?:in|out|word)?|srcstorepass|deststorepass)\s{{1,8}}[\"']?pass:{_WORD}"),
    (
        "login",
        rf"\b(?:docker|podman|nerdctl|buildah|skopeo|crane|oras|helm|registry|az|oc|cf|argocd)\b{_REST}?login\b{_REST}-p[ =]{{0,4}}{_WORD}",
    ),
    ("redis", rf"\bredis-(?:cli|benchmark)\b{_REST}?-a\s{{1,8}}{_WORD}"),
    ("requirepass", rf"\brequirepass\s{{1,8}}{_WORD}"),
    ("masterauth", rf"\bmasterauth\s{{1,8}}{_WORD}"),
    ("wpa-psk", rf"\bwpa-psk\s{{1,8}}{_WORD}"),
    ("mongo", rf"\bmongo(?:sh|dump|restore|export|import)?\b{_REST}?-p\s{{1,8}}{_WORD}"),
    ("ldap", rf"\bldap(?:search|modify|add|delete|passwd|whoami)\b{_REST}?-w\s{{1,8}}{_WORD}"),
    ("sqlcmd", rf"\bsqlcmd\b{_REST}?-P\s{{0,8}}{_WORD}"),
    ("mosquitto", rf"\bmosquitto_(?:pub|sub|rr)\b{_REST}?-P\s{{1,8}}{_WORD}"),
    ("storepass", rf"\s-(?:store|key)pass\s{{1,8}}(?!(?:env|file|pass):){_WORD}"),
)
COMMAND_MARKS = tuple(dict.fromkeys(mark for mark, _ in _PATTERNS))
"""Lower-case; a line without any of them holds no such command."""
_COMPILED = tuple((mark, re.compile(pattern)) for mark, pattern in _PATTERNS)


def command_secrets(line: str) -> Iterator[re.Pattern[str]]:
    """The patterns worth trying on `line`, which is lower-case."""
    return (pattern for mark, pattern in _COMPILED if mark in line)
