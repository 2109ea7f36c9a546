"""What may be stored of a file or of any other text: the one call that every writer makes before it writes.

The rules are `tenure.core.secrets`; the vendor detectors of detect-secrets give a second opinion on marked lines.
Of detect-secrets only the patterns are used: never its file scanner, its settings or its network verification.
"""

import importlib
import re
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from tenure.core.memory import FileRole
from tenure.core.secret_names import Strictness
from tenure.core.secret_shapes import MIN_TOKEN_RUN, is_placeholder
from tenure.core.secrets import Span, blank_private, mask, strip_private

if TYPE_CHECKING:
    from detect_secrets.plugins.base import RegexBasedDetector

_SECOND_OPINION = (
    ("aws", "AWSKeyDetector"),
    ("azure_storage_key", "AzureStorageKeyDetector"),
    ("discord", "DiscordBotTokenDetector"),
    ("github_token", "GitHubTokenDetector"),
    ("gitlab_token", "GitLabTokenDetector"),
    ("mailchimp", "MailchimpDetector"),
    ("npm", "NpmDetector"),
    ("openai", "OpenAIDetector"),
    ("pypi_token", "PypiTokenDetector"),
    ("sendgrid", "SendGridDetector"),
    ("slack", "SlackDetector"),
    ("square_oauth", "SquareOAuthDetector"),
    ("stripe", "StripeDetector"),
    ("telegram_token", "TelegramBotTokenDetector"),
    ("twilio", "TwilioKeyDetector"),
)
_MIN_GROUP_CHARS = 16
"""A shorter group of a vendor's pattern is a prefix or a name, not the secret."""


@cache
def _patterns() -> tuple[re.Pattern[str], ...]:
    """The vendors' patterns, loaded when the first marked line is met.

    The package imports an HTTP client, which takes longer than masking a thousand files.
    """
    patterns: list[re.Pattern[str]] = []
    for module, name in _SECOND_OPINION:
        detector: RegexBasedDetector = getattr(importlib.import_module(f"detect_secrets.plugins.{module}"), name)()
        denylist: Any = detector.denylist  # one vendor's is a bare pattern, against its own declaration
        patterns += [denylist] if isinstance(denylist, re.Pattern) else denylist
    return tuple(patterns)


def _second_opinion(line: str) -> list[Span]:
    spans: list[Span] = []
    for pattern in _patterns():
        for match in pattern.finditer(line):
            group = next((i for i, text in enumerate(match.groups(), 1) if text and len(text) >= _MIN_GROUP_CHARS), 0)
            start, end = match.span(group)
            if start and line[start - 1].isalnum() and line[start].isalnum():
                continue  # the middle of a longer word
            while end < len(line) and line[end].isalnum():
                end += 1
            if not is_placeholder(line[start:end]):
                spans.append((start, end))
    return spans


_CONFIGURATION_SUFFIXE_LIST = """
.env .yaml .yml .toml .ini .cfg .conf .config .json .jsonc .json5 .properties .tfvars .plist .xml .hcl
.editorconfig .service .env.example .env.sample .env.template .env.dist .envrc .npmrc .pypirc .netrc .htaccess
.reg .log .csv .tsv
"""
_CONFIGURATION_SUFFIXES = frozenset(_CONFIGURATION_SUFFIXE_LIST.split())
_DOCUMENT_SUFFIXE_LIST = """
.md .markdown .mdx .rst .txt .adoc .org .tex .html .htm .ipynb
"""
_DOCUMENT_SUFFIXES = frozenset(_DOCUMENT_SUFFIXE_LIST.split())


def _strictness(path: str, role: FileRole) -> Strictness:
    name = _original_names(PurePosixPath(path).name.lower())[0]
    suffix = PurePosixPath(name).suffix
    if (
        role is FileRole.CONFIG
        or suffix in _CONFIGURATION_SUFFIXES
        or name.startswith(".env")
        or name in _CONFIGURATION_SUFFIXES
    ):
        return Strictness.CONFIGURATION
    if role is FileRole.DOCUMENT or suffix in _DOCUMENT_SUFFIXES:
        return Strictness.DOCUMENT
    return Strictness.SOURCE


def mask_text(text: str, path: str, role: FileRole) -> str:
    """The text of a file without its secrets, with the same lines and columns; masking twice equals masking once.

    Source code loses exact shapes only (vendor tokens, private keys, credentials in URLs); documents also values with
    telling names; configuration also bare random strings. Closed `<private>` spans are masked in all of them.
    """
    strictness = _strictness(path, role)
    visible = blank_private(text, is_source=strictness is Strictness.SOURCE)
    return mask(visible, strictness=strictness, second_opinion=_second_opinion).text


def mask_free_text(text: str) -> str:
    """A commit message, query, event, log line or tool output without its secrets and without its private parts."""
    return mask(strip_private(text), strictness=Strictness.FREE_TEXT, second_opinion=_second_opinion).text


_TOKEN_CHARS = bytes(
    ord("a") if chr(byte).isascii() and re.match(r"[\w-]", chr(byte)) else ord(" ") for byte in range(256)
)
_LONG_RUN = b"a" * MIN_TOKEN_RUN
"""Every vendor's token holds such a run of characters; most paths hold none."""


def mask_path(path: str) -> str:
    """A file's path, or many on lines of their own, without vendors' tokens, in as many characters."""
    if _LONG_RUN not in path.encode("ascii", "replace").translate(_TOKEN_CHARS):
        return path
    return mask(path, strictness=Strictness.SOURCE, second_opinion=_second_opinion).text


_KEY_SUFFIXE_LIST = """
.pem .key .p8 .p12 .pfx .pkcs12 .jks .keystore .kdb .kdbx .ppk .gpg .asc .keytab .ovpn .mobileprovision
.agekey
"""
_KEY_SUFFIXES = frozenset(_KEY_SUFFIXE_LIST.split())
_KEY_NAME_LIST = """
id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk id_ed25519_sk .netrc _netrc .npmrc .yarnrc .pypirc .pgpass
pgpass.conf .my.cnf .git-credentials .dockercfg .dockerconfigjson .htpasswd htpasswd kubeconfig .s3cfg .boto
.vault-token .terraformrc credentials credentials.json credentials.yml.enc client_secret.json
client_secrets.json service-account.json service_account.json serviceaccount.json
application_default_credentials.json secrets.yml secrets.yaml secrets.json secrets.toml .secrets master.key
shadow .rediscli_auth .kaggle.json terraform.tfvars terraform.tfvars.json secret.tfvars secrets.tfvars
"""
_KEY_NAMES = frozenset(_KEY_NAME_LIST.split())
_KEY_PATHS = (
    ".aws/credentials",
    ".docker/config.json",
    ".kube/config",
    ".ssh/config",
    ".gem/credentials",
    ".cargo/credentials.toml",
)
_KEY_NAME_PATTERN = re.compile(
    r"(?:client_secret|service[-_]?account|gcp[-_]?key|firebase-adminsdk)[\w.@-]*\.json|.*\.tfstate(?:\.backup)?|.*\.kubeconfig|id_(?:rsa|dsa|ecdsa|ed25519)[\w.-]*"
)
_ENVIRONMENT = re.compile(r"\.env(?:rc)?(?:[._ -].+)?|.+\.env")
_SHARED_ENVIRONMENT = re.compile(
    r".*[._-](?:example|sample|template|tmpl|dist|schema|defaults?)(?:\.\w+)?|(?:example|sample|template)\.env"
)
_BACKUP = re.compile(r"(?:~|\.(?:bak|backup|old|orig|save|sav|swp|swo|swn|copy|tmp)~?\d{0,2}|[. _-]copy)$")
"""What editors and people put behind the name of a copy."""
_MAX_BACKUPS = 4
"""Copies of copies of copies; a name made of more such suffixes is no one's."""


def _original_names(name: str) -> tuple[str, ...]:
    """The names that a file may be a copy of: its own without backup suffixes, and without the sign before an editor's copy.

    Vim keeps `server.key` in `.server.key.swp`, Emacs in `#server.key#`.
    """
    original = name[1:-1] if len(name) > 2 and name[0] == name[-1] == "#" else name
    original = original.removeprefix(".#")
    for _ in range(_MAX_BACKUPS):
        original = _BACKUP.sub("", original) or original
    return (original,) if original == name else (original, original.removeprefix("."))


def _is_key_name(name: str) -> bool:
    if name.endswith(".pub"):
        return False
    if _ENVIRONMENT.fullmatch(name):
        return _SHARED_ENVIRONMENT.fullmatch(name) is None
    return (
        name in _KEY_NAMES
        or PurePosixPath(name).suffix in _KEY_SUFFIXES
        or _KEY_NAME_PATTERN.fullmatch(name) is not None
    )


def is_key_file(path: str) -> bool:
    """Whether a file is there to hold secrets, by its path alone, so that nobody reads it: `.env`, keys, credentials.

    A copy (`server.key.bak`, `.env~`) is what its original is. `.env.example` and its like are no key files; nor is a
    public key, `id_rsa.pub`.
    """
    lowered = path.replace("\\", "/").lower()
    folder, _, name = lowered.rpartition("/")
    return any(
        _is_key_name(original) or f"/{folder}/{original}".endswith(tuple(f"/{ending}" for ending in _KEY_PATHS))
        for original in _original_names(name)
    )
