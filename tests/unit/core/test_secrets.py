"""Secrets are masked in place, ordinary text is left alone. Keys are put together here: none stands in the file."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenure.core.secret_names import Strictness, entropy, is_random
from tenure.core.secret_shapes import is_placeholder
from tenure.core.secrets import Masked, blank_private, mask, strip_private

LETTERS = "Qm7Zk2Vx9Lb4Tw8Rn3Hs6Yd1Gf5Jc0Pa"
HEX = "3f9a1c7e5b2d8046" * 4
BEGIN, END = "-----BEGIN " + "RSA PRIVATE KEY-----", "-----END " + "RSA PRIVATE KEY-----"
BODY = "\n".join(["MIIEow" + LETTERS + LETTERS[:26]] * 3)
PASSWORD = "Tr0ub4dor" + "&3!x"

TOKENS = {
    "aws": "AKIA" + "Z2X4C6V8B0N1M3L5",
    "github": "ghp_" + (LETTERS + LETTERS)[:36],
    "github fine-grained": "github_pat_" + LETTERS + "_" + LETTERS,
    "gitlab": "glpat-" + LETTERS[:20],
    "slack": "xoxb-" + "123456789012-" + LETTERS[:24],
    "stripe": "sk_live_" + LETTERS[:24],
    "google": "AIza" + (LETTERS + LETTERS)[:35],
    "google oauth": "ya29." + LETTERS,
    "openai": "sk-" + "proj-" + LETTERS,
    "openai old": "sk-" + (LETTERS + LETTERS)[:48],
    "anthropic": "sk-" + "ant-api03-" + LETTERS,
    "npm": "npm_" + (LETTERS + LETTERS)[:36],
    "pypi": "pypi-" + "AgEIcHlwaS5vcmc" + LETTERS * 3,
    "sendgrid": "SG." + LETTERS[:22] + "." + (LETTERS + LETTERS)[:43],
    "twilio": "SK" + HEX[:32],
    "jwt": "eyJ" + LETTERS + ".eyJ" + LETTERS + "." + LETTERS,
    "azure": "AccountKey=" + (LETTERS * 3)[:40] + "/+" + (LETTERS * 2)[:44] + "==",
    "digitalocean": "dop_v1_" + HEX,
    "hugging face": "hf_" + (LETTERS + LETTERS)[:34],
    "slack hook": "https://hooks.slack.com/services/T0AB/B0CD/" + LETTERS[:24],
    "slack hook of real length": "https://hooks.slack.com/services/T03AB12CD9K/B04FG56HI7L/" + LETTERS[:24],
    "slack workflow": "https://hooks.slack.com/triggers/T03AB12CD9K/7123456789012/" + HEX[:32],
    "discord hook": "https://discord.com/api/webhooks/1098765432109876543/" + (LETTERS * 3)[:68],
    "discord hook, versioned": "https://discordapp.com/api/v10/webhooks/1098765432109876543/" + (LETTERS * 3)[:68],
    "our own": "tnr_" + (LETTERS[:20] + "-_" + LETTERS)[:43],
    "xai": "xai-" + (LETTERS * 3)[:80],
    "replicate": "r8_" + (LETTERS * 2)[:37],
    "nvidia": "nvapi-" + (LETTERS[:30] + "-_" + LETTERS * 2)[:64],
    "pulumi": "pul-" + HEX[:40],
    "facebook": "EAAC" + (LETTERS * 6)[:170],
    "square": "EAAA" + (LETTERS * 2)[:60],
    "telegram": "7123456789:" + "AA" + (LETTERS * 2)[:33],
    "telegram of a URL": "bot7123456789:" + "AA" + (LETTERS * 2)[:33],
    "perplexity": "pplx-" + (LETTERS * 2)[:48],
    "notion": "ntn_" + (LETTERS * 2)[:46],
    "airtable": "pat" + LETTERS[:14] + "." + HEX,
}
ANY = st.sampled_from(list(Strictness))
LOOSE = [Strictness.DOCUMENT, Strictness.CONFIGURATION, Strictness.FREE_TEXT]


def masked(text: str, strictness: Strictness = Strictness.SOURCE) -> str:
    result = mask(text, strictness=strictness)
    assert [len(line) for line in result.text.split("\n")] == [len(line) for line in text.split("\n")]
    assert mask(result.text, strictness=strictness) == Masked(result.text, 0)
    return result.text


@pytest.mark.parametrize("name", TOKENS)
@pytest.mark.parametrize("strictness", list(Strictness))
def test_a_vendors_token_is_masked_in_any_text(name, strictness):
    token = TOKENS[name]
    secret = token.removeprefix("AccountKey=").removeprefix("https://")
    text = f"x = 1\nclient('{token}', retries=3)\nÄ = 'é{name}'\n"
    assert masked(text, strictness) == text.replace(secret, "*" * len(secret))


@pytest.mark.parametrize("strictness", list(Strictness))
def test_a_private_key_is_masked_whole_and_its_markers_stay(strictness):
    text = f"cert = '''\n{BEGIN}\nProc-Type: 4,ENCRYPTED\n\n{BODY}\n{END}\n'''\ndef load(): ...\n"
    result = masked(text, strictness)
    assert "MII" not in result
    assert result.startswith(f"cert = '''\n{BEGIN}\n")
    assert result.endswith(f"\n{END}\n'''\ndef load(): ...\n")


@pytest.mark.parametrize(
    "text",
    [
        f"{BEGIN}\\n" + "MIIEow" + LETTERS + "\\n" + LETTERS + f"\\n{END}\\n",
        "\n".join(f'    "{line}\\n" +' for line in [BEGIN, *BODY.split("\n"), END]),
        f"log: {BEGIN}\n{BODY}\n",
        f"{BEGIN}\nVersion: GnuPG v2\n\n{BODY}",
        f"+{BEGIN}\n+" + BODY.replace("\n", "\n+"),
        f"{BEGIN}\n{BODY}\n{BEGIN}\n{BODY}\n{END}\n",
        "---- BEGIN " + f"SSH2 ENCRYPTED PRIVATE KEY ----\n{BODY}\n---- END " + "SSH2 ENCRYPTED PRIVATE KEY ----",
    ],
    ids=["escaped", "quoted", "cut", "cut with header", "diff", "cut then whole", "ssh2"],
)
def test_a_private_key_is_found_in_any_wrapping(text):
    assert LETTERS not in masked(text)
    assert "MII" not in masked(text)


@pytest.mark.parametrize(
    "text",
    [
        f'HEAD = "{BEGIN}"\nTAIL = "{END}"\n',
        f'HEAD = b"{BEGIN}"; TAIL = b"{END}"\n',
        f"if text.startswith('{BEGIN}'):\n    return parse(text)\n",
        f"{BEGIN}\n<your key>\n{END}\n",
        "-----BEGIN CERTIFICATE-----\n" + BODY + "\n-----END CERTIFICATE-----\n",
    ],
)
def test_markers_without_a_key_hide_no_code(text):
    assert masked(text) == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"DB = 'postgres://app:{PASSWORD}@db.invalid/x'", PASSWORD),
        ("redis://:hunter22@cache:6379/0", "hunter22"),
        ("amqp://u:p@ss@mq", "p@ss"),
        (f"remote: https://{LETTERS}@git.invalid/r.git", LETTERS),
    ],
)
def test_the_password_of_a_url_is_masked_and_the_rest_stays(text, secret):
    assert masked(text) == text.replace(secret, "*" * len(secret))


@pytest.mark.parametrize(
    "text",
    [
        "http://localhost:8080/a@b",
        "f'postgres://{user}:{password}@{host}/x'",
        "mysql://<user>:<password>@<host>/x",
        "https://user:password@example.com",
        "https://u:${TOKEN}@h",
        "'http://%s:%s@%s' % parts",
        "https://averylongusernamewithoutdigits@host",
        "see https://example.com/docs and mail me@example.com",
        "http://a.b:80,c@d",
    ],
)
@pytest.mark.parametrize("strictness", list(Strictness))
def test_a_url_without_a_password_is_left_alone(text, strictness):
    assert masked(text, strictness) == text


@pytest.mark.parametrize("strictness", LOOSE)
@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (f"$ export PGPASSWORD={PASSWORD}; psql -h x", PASSWORD),
        (f"DB_PASSWORD={PASSWORD}\nPORT=5", PASSWORD),
        (f'{{"password": "{PASSWORD}", "port": 5}}', PASSWORD),
        (f'body="{{\\"client_secret\\": \\"{PASSWORD}\\"}}"', PASSWORD),
        (f"api_key: {LETTERS}", LETTERS),
        (f"?token={HEX[:32]}&page=2", HEX[:32]),
        (f"Server=x;Password={PASSWORD};Encrypt=true", PASSWORD),
        (f"Authorization: Bearer {LETTERS}", LETTERS),
        ("'Authorization': 'Basic dXNlcjpwYXNzdzByZA=='", "dXNlcjpwYXNzdzByZA=="),
        (f'"x-auth": "Bearer {LETTERS}"', LETTERS),
        (f"machine m login me password {PASSWORD}", PASSWORD),
        (f"deploy --password {PASSWORD} --verbose", PASSWORD),
        (f"the password is {PASSWORD}.", PASSWORD),
        (f"curl -s -u me:{PASSWORD} https://h", PASSWORD),
        (f"mysql -u root -p{PASSWORD} db", PASSWORD),
        (f"sshpass -p {PASSWORD} ssh h", PASSWORD),
        (f"<password>{PASSWORD[:9]}</password>", PASSWORD[:9]),
        (f"- name: DB_PASSWORD\n  value: {PASSWORD}", PASSWORD),
        (f"password:\n  value: {PASSWORD}\n", PASSWORD),
        (f'<add key="Password" value="{PASSWORD}"/>', PASSWORD),
        ("PGPASSWORD=letmein psql", "letmein"),
    ],
)
def test_a_value_with_a_telling_name_is_masked_outside_source(text, secret, strictness):
    assert masked(text, strictness) == text.replace(secret, "*" * len(secret))


def test_in_source_a_telling_name_alone_masks_nothing():
    text = f"password = '{PASSWORD}'\n"
    assert masked(text) == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("password: letmein", "letmein"),
        ("db.password=open", "open"),
        ("secret_key: abcdefgh", "abcdefgh"),
        ("pin_pass: 123456", "123456"),
    ],
)
def test_in_configuration_any_value_of_a_passwords_name_is_one(text, secret):
    assert masked(text, Strictness.CONFIGURATION) == text.replace(secret, "*" * len(secret))
    assert masked(text, Strictness.FREE_TEXT) in (text, text.replace(secret, "*" * len(secret)))


@pytest.mark.parametrize(
    "text",
    [
        "password = get_password()",
        "password=request.form['password'], token=self.token)",
        "def login(password: str, token: str | None = None) -> Token:",
        "Password: required",
        "def create(self, name, password=None):",
        "docker run -v `pwd`:/tests1 -it tox",
        "password:",
        "connect(password=entered)",
        "token = tokens[0]",
        "api_key: <your-key>",
        "api_key=your-key-here",
        "TOKEN=${TOKEN}",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "SECRET=$OTHER",
        "password=xxxxxxxx",
        "password: '********'",
        "password: changeme",
        "SECRET_KEY = 'APP_SECRET_KEY'",
        "the token expired, refresh the password now",
        "Fix password reset for OAuth2 users in #4412",
        "token: v1.22.333",
        "max_tokens: 89600, token_count=12345678",
        "auth: types-auth0-python",
        "password: see the vault for it",
        "PASSWORD_FILE=/run/secrets/db",
        "password_file: /run/secrets/db_password",
        "password: /run/secrets/db_password",
        "deploy --token TOKEN --password <PASSWORD> --secret name",
        "Authorization: Bearer <token>",
        "authorization: required-for-all",
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "sha512-" + LETTERS + LETTERS + "==",
        "integrity: " + LETTERS + LETTERS,
        "h1:" + LETTERS + LETTERS + "=",
        "ssh-ed25519 " + "AAAAC3NzaC1lZDI1NTE5AAAAI" + LETTERS,
        "HTTPServerRequestHandlerFactoryForTests2 and org/apache/Commons2Base64Codec3TestCaseRunner",
        "token=\\s*((?:npm_)?[A-Za-z0-9]{36})",
        "1 passed, 2 failed; compass: north, bypass: 123456",
        '"pass":3413,"zealand":3414',
        "assert 'password' in form and token_urlsafe(32)",
        "curl -u user:password https://h",
        "AKIA" + "xxxxxxxxxxxxxxxx",
        "ghp_" + "x" * 36,
        "sk-" + "toggleable__content-estimator-label",
        "task-force_on_something_rather_long_and_dull",
        "tnr_is_the_prefix_of_every_key_that_we_make",
        "r8_register_of_a_machine_with_sixteen_of_them and xai-grok-beta-for-everybody-at-home",
        "12345678:lower-case-words-joined-to-35-chars",
        "line 12345678: ordinary_identifier_with_many_words",
        "data:x;base64,AAA/EAAC" + LETTERS * 3,
        "https://hooks.slack.com/services/your/webhook/url and https://discord.com/api/webhooks/id/token",
    ],
)
@pytest.mark.parametrize("strictness", [Strictness.SOURCE, Strictness.DOCUMENT, Strictness.FREE_TEXT])
def test_ordinary_text_and_placeholders_are_left_alone(text, strictness):
    assert masked(text, strictness) == text


def test_a_bare_random_string_is_masked_in_free_text_and_configuration_only():
    text = f"response was {LETTERS}{LETTERS[:8]} after 3 tries"
    assert LETTERS not in masked(text, Strictness.FREE_TEXT)
    assert LETTERS not in masked(text, Strictness.CONFIGURATION)
    assert masked(text, Strictness.DOCUMENT) == masked(text, Strictness.SOURCE) == text


def test_all_secrets_of_a_text_are_counted_and_a_secret_named_twice_over_counts_once():
    text = f"a={TOKENS['aws']}\nAuthorization: Bearer {TOKENS['github']}\n"
    result = mask(text, strictness=Strictness.FREE_TEXT)
    assert result.count == 2
    assert mask("plain\n", strictness=Strictness.FREE_TEXT) == Masked("plain\n", 0)


def test_a_second_opinion_is_asked_on_marked_lines_only():
    asked = []

    def opinion(line):
        asked.append(line)
        return [(line.index("weird"), len(line))] if "weird" in line else []

    text = f"weird line that-is-long-enough-for-a-token\n{TOKENS['aws']}\nthe token weird\nthe token weird-{'y' * 20}\n"
    result = mask(text, strictness=Strictness.FREE_TEXT, second_opinion=opinion)
    assert result.text.split("\n")[1:] == ["*" * 20, "the token weird", "the token " + "*" * 26, ""]
    assert all("token" in line or TOKENS["aws"] in line or "*" in line for line in asked)


@settings(max_examples=100)
@given(
    st.lists(
        st.sampled_from(
            [
                *TOKENS.values(),
                PASSWORD,
                BEGIN,
                END,
                BODY,
                "password",
                "token=",
                ": ",
                '"',
                "\n",
                "://",
                "@",
                "<private>",
                "Bearer ",
            ]
        )
        | st.text(max_size=12),
        max_size=12,
    ),
    ANY,
)
def test_masking_keeps_lines_and_columns_and_masking_twice_equals_once(pieces, strictness):
    text = "".join(pieces)
    result = mask(text, strictness=strictness)
    assert len(result.text) == len(text)
    assert [a if a.isspace() else "" for a in result.text] == [a if a.isspace() else "" for a in text]
    assert all(a == b or a == "*" for a, b in zip(result.text, text, strict=True))
    assert mask(result.text, strictness=strictness) == Masked(result.text, 0)


@settings(max_examples=50)
@given(st.sampled_from(list(TOKENS.values())), st.text(alphabet="é\u2028\x85\r\t \U0001f600,;(\ud800", max_size=8), ANY)
def test_a_token_is_found_beside_any_character_that_is_no_letter(token, noise, strictness):
    secret = token.removeprefix("AccountKey=").removeprefix("https://")
    assert secret not in mask(f"{noise} {token} {noise}", strictness=strictness).text


def test_what_stands_for_a_secret_is_told_from_a_secret():
    assert all(
        is_placeholder(value)
        for value in ("", "***", "<key>", "${X}", "{{ x }}", "%(pw)s", "None", "changeme", "MY_VARIABLE")
    )
    assert not any(is_placeholder(value) for value in ("hunter2", PASSWORD, LETTERS, "correct horse"))


def test_entropy_tells_keys_from_words():
    assert entropy("") == 0.0
    assert entropy("aabb") == 1.0
    assert is_random(LETTERS)
    assert not any(is_random(word) for word in ("Base64Encoder", "short1", "withoutanydigits", "1111111111aa"))


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a <private>b</private> c", "a  c"),
        ("a <PRIVATE>\nb\n< / private > c", "a  c"),
        ("a <private>b", "a "),
        ("a <private>b <private>c</private> d</private> e", "a  e"),
        ("<private>a</private> b <private>c</private> d", " b  d"),
        ("a <private> b <private>c</private> d", "a "),
        ("a </private> b", "a </private> b"),
        ("<pri<private>x</private>vate>a</private>b", "b"),
        ("a private matter, x < y", "a private matter, x < y"),
    ],
)
def test_private_text_is_never_kept(text, kept):
    assert strip_private(text) == kept


def test_in_a_document_private_text_is_masked_in_place():
    text = "a <private>b\n c</private> d <private>open"
    assert blank_private(text, is_source=False) == f"a {'*' * 10}\n {'*' * 11} d <private>open"


def test_in_source_tags_that_are_spoken_of_hide_no_code():
    spoken = 'OPEN = "<private>"\n\ndef keep(): ...\n\nCLOSE = "</private>"\n'
    assert blank_private(spoken, is_source=True) == spoken
    assert blank_private("x = 1\n", is_source=True) == "x = 1\n"
    meant = "# <private>\n# the customer is Acme\n# </private>\nx = 1\n"
    assert "Acme" not in blank_private(meant, is_source=True)
    assert blank_private(meant, is_source=True).endswith("\nx = 1\n")
    assert blank_private("x = 1  # <private>why</private>\n", is_source=True) == "x = 1  # " + "*" * 22 + "\n"
