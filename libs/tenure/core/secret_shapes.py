"""The shapes of secrets: vendor tokens, private-key blocks, credentials in URLs, and what is only a placeholder.

Data and small predicates for `tenure.core.secrets`, which decides where they apply.
"""

import re

MIN_TOKEN_RUN = 20
"""Every vendor token below holds a run of at least this many characters of [A-Za-z0-9_-]; shorter words are never looked at."""

_TELEGRAM = r"(?=[\w-]*[A-Z])(?=[\w-]*[a-z])(?=[\w-]*\d)[\w-]{35}(?![\w-])"
_VENDOR_SHAPES: tuple[tuple[str, str], ...] = (
    # (what a token begins with, what follows it in a real one)
    (r"A(?:KIA|SIA|BIA|CCA)", r"[0-9A-Z]{16}(?![0-9A-Za-z])"),  # AWS access key id
    (r"gh[pousr]_", r"[A-Za-z0-9_]{36,255}"),  # GitHub
    (r"github_pat_", r"\w{22,255}"),
    (r"gl(?:pat|dt|ft|soat|rt|ptt|agent|oas|imt|cbt)-", r"[\w-]{20,1024}"),  # GitLab
    (r"GR1348941", r"[\w-]{20,50}"),
    (r"xox[abceoprs]-", r"[\w-]{10,255}"),  # Slack
    (r"xapp-", r"\d-[\w-]{20,255}"),
    (r"[srp]k_(?:live|test)_", r"[0-9A-Za-z]{16,255}"),  # Stripe
    (r"whsec_", r"[A-Za-z0-9+/=]{24,255}"),
    (r"AIza", r"[\w-]{35}(?![\w-])"),  # Google
    (r"GOCSPX-", r"[\w-]{24,64}"),
    (r"ya29\.", r"[\w-]{20,2048}"),
    (r"sk-(?:proj|svcacct|admin|ant-\w+|or-v1)-", r"[\w-]{20,512}"),  # OpenAI, Anthropic, OpenRouter
    (r"sk-", r"[A-Za-z0-9]{32,128}(?![\w-])"),
    (r"gsk_", r"[A-Za-z0-9]{40,128}"),  # Groq
    (r"npm_", r"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    (r"pypi-", r"AgE[\w-]{50,1024}"),
    (r"SG\.", r"[\w-]{16,64}\.[\w-]{16,64}"),  # SendGrid
    (r"[SA][KC](?=[0-9a-f]{32})", r"[0-9a-f]{32}(?![0-9A-Za-z])"),  # Twilio
    (r"eyJ", r"[\w-]{8,4096}={0,2}\.eyJ[\w-]{8,8192}={0,2}(?:\.[\w-]*)?"),  # JSON Web Token
    (r"do[opr]_v1_", r"[a-f0-9]{64}"),  # DigitalOcean
    (r"hf_", r"[A-Za-z0-9]{34,64}(?!\w)"),  # Hugging Face
    (r"api_org_", r"[A-Za-z]{34}"),
    (r"shp(?:at|ca|pa|ss)_", r"[a-fA-F0-9]{32}"),  # Shopify
    (r"lin_api_", r"[A-Za-z0-9]{32,64}"),  # Linear
    (r"dapi", r"[a-f0-9]{32}(?![0-9A-Za-z])"),  # Databricks
    (r"gl(?:sa|c)_", r"[A-Za-z0-9+/_]{32,512}"),  # Grafana
    (r"hv[sb]\.", r"[\w-]{24,512}"),  # Vault
    (r"dp\.(?:pt|st|ct)\.", r"[A-Za-z0-9_.]{40,64}"),  # Doppler
    (r"PMAK-", r"[a-f0-9]{24}-[a-f0-9]{34}"),  # Postman
    (r"NRAK-", r"[A-Z0-9]{27}"),  # New Relic
    (r"ATATT3", r"[\w=-]{50,512}"),  # Atlassian
    (r"dckr_pat_", r"[\w-]{20,64}"),  # Docker
    (r"sbp_", r"[a-f0-9]{40}"),  # Supabase
    (r"rubygems_", r"[a-f0-9]{48}"),
    (r"sntry[su]_", r"[\w+/=.-]{40,512}"),  # Sentry
    (r"sq0(?:csp|atp)-", r"[\w-]{22,43}"),  # Square
    (r"LTAI", r"[A-Za-z0-9]{16,24}(?![A-Za-z0-9])"),  # Alibaba Cloud
    (r"AGE-SECRET-KEY-1", r"[0-9A-Z]{58}"),
    (r"tnr_", r"[\w-]{43}(?![\w-])"),  # our own
    (r"xai-", r"[A-Za-z0-9]{40,128}(?![\w-])"),
    (r"r8_", r"[A-Za-z0-9]{37}(?!\w)"),  # Replicate
    (r"nvapi-", r"[\w-]{40,128}"),  # NVIDIA
    (r"pul-", r"[a-f0-9]{40}(?![\w-])"),  # Pulumi
    (
        r"EAA[B-Z](?<![+/]EAA[B-Z])",
        r"(?=[A-Za-z]*\d)[A-Za-z0-9]{60,512}(?![\w+/-])",
    ),  # Facebook; no line of base64 data
    (r"EAAA", r"(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{60}(?![\w+/-])"),  # Square
    (r"pplx-", r"[A-Za-z0-9]{40,64}(?![\w-])"),  # Perplexity
    (r"csk-", r"[a-z0-9]{40,64}(?![\w-])"),  # Cerebras
    (r"tgp_v1_", r"[\w-]{40,64}"),  # Together
    (r"lsv2_(?:pt|sk)_", r"[a-f0-9]{32}_[a-f0-9]{10}"),  # LangSmith
    (r"ntn_", r"[A-Za-z0-9]{40,64}(?!\w)"),  # Notion
    (r"fig[dou]_", r"[\w-]{40,64}"),  # Figma
    (r"pat(?=[A-Za-z0-9]{14}\.)", r"[A-Za-z0-9]{14}\.[a-f0-9]{64}"),  # Airtable
    (r"pscale_(?:tkn|oauth|pw)_", r"[\w.=-]{32,64}"),  # PlanetScale
    (r"tskey-[a-z]+-", r"[\w-]{20,128}"),  # Tailscale
    (r"xkeysib-", r"[a-f0-9]{64}-[A-Za-z0-9]{16}"),  # Brevo
    (r"nfp_", r"[A-Za-z0-9]{36,64}(?!\w)"),  # Netlify
    (r"dckr_oat_", r"[\w-]{20,64}"),
    (r"sq[apu]_", r"[a-f0-9]{40}(?!\w)"),  # SonarQube
    (r"HRKU-", r"[\w-]{36,80}"),  # Heroku
    (r"\d{8,12}:", _TELEGRAM),
    (r"bot\d{8,12}:", _TELEGRAM),  # in a URL
    (r"discord(?:app)?\.com/api/(?:v\d{1,2}/)?webhooks/", r"\d+/[\w-]{60,80}"),
    (r"hooks\.slack\.com/(?:services|workflows|triggers)/", r"\w{2,20}/\w{2,20}/(?:\d+/)?\w{16,64}"),
    (r"webhook\.office\.com/webhookb2/", r"[\w@-]{32,80}/IncomingWebhook/[a-f0-9]{32}/[\w-]{32,80}"),
)

VENDOR_PREFIX = re.compile(
    r"(?<![A-Za-z0-9])(?=[A-Za-z\d])(?:" + "|".join(dict.fromkeys(p for p, _ in _VENDOR_SHAPES)) + ")"
)
"""Loose: marks a line as worth the exact detectors. Every prefix begins with a letter or digit: to look for that first spares
trying each of them at every space and mark."""

VENDOR_TOKEN = re.compile(r"(?<![A-Za-z0-9])(?:" + "|".join(f"{p}{rest}" for p, rest in _VENDOR_SHAPES) + ")")
"""Exact: the whole match is a secret."""

AZURE_KEY = re.compile(r"(?<=Key=)[A-Za-z0-9+/]{42,86}={1,2}")
"""An account or shared-access key in an Azure connection string; its base64 has no run that the token scan could rely on."""
AZURE_MARK = "Key="

URL_MARK = "://"
URL_CREDENTIALS = re.compile(
    r"://(?:"
    r"[^\s:/?#@'\"`<>(){}\[\]$%*\\]{0,256}:([^\s/?#'\"`<>]{1,512})@(?=[\w\[.*-])"
    r"|([\w-]{20,255})@(?=[\w\[.-])"
    r")"
)
"""Group 1 is the password of `scheme://user:password@host`, group 2 a long token that stands for user and password."""

PRIVATE_KEY_MARK = "-- BEGIN "
PRIVATE_KEY_MARK_TIGHT = "--BEGIN "
PRIVATE_KEY_BEGIN = re.compile(r"-{4,5} ?BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_KEY_MARKER = re.compile(r"-{4,5} ?(?P<word>BEGIN|END) (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
MAX_PRIVATE_KEY_CHARS = 32_768
"""A 16,384-bit RSA key in PEM is 12,800 characters; string quoting on each line may double that."""
_KEY_HEADER_LINE = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset|MessageID|Subject)\s?:[^\n\\\"']*"
_KEY_HEADER = re.compile(_KEY_HEADER_LINE)
_KEY_BODY = re.compile(r"[A-Za-z0-9+/=*\s\\\"'`,;:()|#>.-]*")
_KEY_MATERIAL = re.compile(r"[A-Za-z0-9+/=]{16}")
_KEY_GAP = r"(?:[\s\"'+,;|#>]|\\[nr])"
_KEY_OPEN_BODY = re.compile(
    rf"(?:{_KEY_GAP}{{0,64}}{_KEY_HEADER_LINE})*{_KEY_GAP}{{0,64}}(?:[A-Za-z0-9+/=*]{{16,}}{_KEY_GAP}{{0,64}})+"
)


def private_key_end(text: str, begin: int) -> int:
    """The index at which the key material that starts at `begin` (just after a BEGIN line) ends; `begin` if there is none.

    A cut block (no END line) ends with its last base64 line. Two markers with code between them hold no key.
    """
    marker = _KEY_MARKER.search(text, begin, begin + MAX_PRIVATE_KEY_CHARS)
    if marker is not None and marker["word"] == "END":
        body = _KEY_HEADER.sub("", text[begin : marker.start()])
        is_key = _KEY_BODY.fullmatch(body) and _KEY_MATERIAL.search(body.replace("\\n", "\n"))
        return marker.start() if is_key else begin
    open_body = _KEY_OPEN_BODY.match(text, begin, begin + MAX_PRIVATE_KEY_CHARS)
    return open_body.end() if open_body else begin


_PLACEHOLDER_WORD_LIST = """
password passwd passphrase pass pwd secret secrets token key apikey api_key api-key credential credentials
value string str text bytes int integer bool boolean number float object none null nil undefined true false
yes no on off optional required default empty unset redacted masked hidden removed omitted filtered example
sample placeholder dummy fake todo fixme changeme change-me change_me changeit replaceme replace-me replace_me
mypassword my-password my_password yourpassword foo bar baz foobar user username test testing any unknown
varchar char env environment prompt vault
"""
_PLACEHOLDER_WORDS = frozenset(_PLACEHOLDER_WORD_LIST.split())
_PLACEHOLDER = re.compile(
    r"(?:"
    r"[\W_xX]*"  # nothing but punctuation and x
    r"|[A-Z]+(?:_[A-Z]+)+"  # the name of a variable
    r"|(?:<|&lt;|&#x3[cC];)[^<>]*>?.*"  # <your-key>, <redacted>
    r"|.*\$\{.*|\$\(.*|\$\w+.*|.*\{\{.*|\{[^{}]*\}|.*%\(\w+\)s.*|%[sdr]|%\w+%"  # ${VAR} $(cmd) $VAR {{ x }} {x} %(x)s %s %VAR%
    r"|(?:your|insert|enter|put|add|replace)[-_ ].*"  # your-key-here
    r"|.*(?:[-_ ]here|change[-_ ]?me|replace[-_ ]?me|placeholder|redacted|example[-_ ]?(?:key|token|password|secret)?)"
    r"|(?:x{3,}|X{3,}|\*{3,}|\.{3,}|…).*|.*(?:x{4,}|X{4,}|\*{3,}|\.{3,}|…)"
    r"|!\w+.*|ENC\[.*|vault:.*|env[:.].*|file:.*|op://.*|arn:.*|(?:/[\w.-]+){2,}/?|~/.*|\./.*"  # references to where the secret is
    r")",
    re.DOTALL,
)


def is_placeholder(value: str) -> bool:
    """Whether `value` only says where a secret would stand: empty, masked, a variable, a type, `<your-key>`, `changeme`."""
    bare = value.strip().strip("\"'`,;").strip()
    return bare.lower() in _PLACEHOLDER_WORDS or _PLACEHOLDER.fullmatch(bare) is not None
