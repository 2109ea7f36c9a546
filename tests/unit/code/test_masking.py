"""One call masks what a writer may store, by what the file is; key files are told by their path."""

import json
import subprocess
import sys

import pytest

from tenure.code.masking import is_key_file, mask_free_text, mask_text
from tenure.core.memory import FileRole

LETTERS = "Wq8Rk3Zx7Lp2Vt9Nb4Hm6Yd1Gf5Jc0Sa"
AWS, GITHUB = "AKIA" + "J7H6G5F4D3S2A1Q0", "ghp_" + (LETTERS + LETTERS)[:36]
PASSWORD = "c0rrect" + "-H0rse!"
TELEGRAM = "1234567890:" + "AA" + (LETTERS + LETTERS)[:33]


def test_source_loses_its_keys_and_keeps_its_symbols():
    text = f"KEY = '{AWS}'\nURL = 'postgres://app:{PASSWORD}@db.invalid/x'\n\n\ndef load_settings():\n    return KEY\n"
    masked = mask_text(text, "app/settings.py", FileRole.CODE)
    assert AWS not in masked
    assert PASSWORD not in masked
    assert masked.endswith("@db.invalid/x'\n\n\ndef load_settings():\n    return KEY\n")
    assert [len(line) for line in masked.splitlines()] == [len(line) for line in text.splitlines()]


def test_source_that_only_talks_of_passwords_is_left_alone():
    text = (
        "def test_token():\n    assert 'password' in form and token_urlsafe(32)\n    login(password='s3cret-word-9')\n"
    )
    assert mask_text(text, "tests/test_auth.py", FileRole.TEST) == text


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("deploy/values.yaml", FileRole.CONFIG),
        ("app.properties", FileRole.CODE),
        (".env.example", FileRole.DOCUMENT),
        ("docs/ops.md", FileRole.DOCUMENT),
        ("notes.txt", FileRole.CODE),
        (".npmrc", FileRole.DOCUMENT),
        ("deploy/values.yaml.bak", FileRole.CODE),
        ("app.toml~", FileRole.CODE),
    ],
)
def test_configuration_and_documents_also_lose_values_with_telling_names(path, role):
    assert mask_text(f"db_password={PASSWORD}\n", path, role) == f"db_password={'*' * len(PASSWORD)}\n"


def test_a_bare_random_string_is_masked_in_configuration_and_not_in_a_document():
    line = f"value = {LETTERS}\n"
    assert mask_text(line, "app.toml", FileRole.CONFIG) == f"value = {'*' * len(LETTERS)}\n"
    assert mask_text(line, "app.md", FileRole.DOCUMENT) == line


def test_the_example_environment_stays_readable():
    text = "OPENAI_API_KEY=your-key-here\nDB_PASSWORD=\nDEBUG=true\n"
    assert mask_text(text, ".env.example", FileRole.CONFIG) == text


def test_free_text_loses_secrets_and_private_parts():
    said = f"$ export PGPASSWORD={PASSWORD}; psql\nAuthorization: Bearer {GITHUB}\nok <private>Acme pays late</private> done"
    masked = mask_free_text(said)
    assert PASSWORD not in masked
    assert GITHUB not in masked
    assert "Acme" not in masked
    assert masked.endswith("ok  done")


@pytest.mark.parametrize("wrap", [str, repr, json.dumps, lambda text: f"Error: command failed: {text!r}"])
def test_quoting_and_escaping_hide_no_secret(wrap):
    masked = mask_free_text(
        wrap(f'DB_PASSWORD={PASSWORD}\n{{"password": "{PASSWORD}"}}\nremote: https://u:{GITHUB}@git.invalid\n')
    )
    assert PASSWORD not in masked
    assert GITHUB not in masked


def test_the_second_opinion_knows_tokens_that_have_no_prefix_and_leaves_placeholders():
    masked = mask_free_text(f"bot token is {TELEGRAM}")
    assert TELEGRAM[11:] not in masked
    said = "auth token SK" + "x" * 32
    assert mask_free_text(said) == said


def test_the_second_opinion_masks_to_the_end_of_a_word_and_never_inside_one():
    key = "AKIA" + "A" * 16
    assert mask_free_text(f"token {key}Zz1") == f"token {'*' * 23}"
    assert mask_free_text(f"token xx{key}") == f"token xx{key}"


def test_a_key_of_azure_is_masked_in_source_with_the_value_that_its_name_leads_to():
    text = "s = 'AccountKey=" + (LETTERS * 3)[:86] + "=='\n"
    assert LETTERS[:20] not in mask_text(text, "a.py", FileRole.CODE)


def test_an_aws_secret_beside_its_name_is_masked_in_source():
    secret = (LETTERS + LETTERS)[:40]
    text = f"aws_secret_access_key = '{secret}'  # {AWS}\n"
    assert mask_text(text, "a.py", FileRole.CODE) == f"aws_secret_access_key = '{'*' * 40}'  # {'*' * 20}\n"


@pytest.mark.parametrize("path", ["a.py", "a.md", "a.toml"])
def test_masking_twice_equals_masking_once(path):
    text = f"x = '{GITHUB}' <private>{AWS}\n</private> password='{PASSWORD}' <private>\n"
    once = mask_text(text, path, FileRole.CODE)
    assert mask_text(once, path, FileRole.CODE) == once


def test_private_text_in_a_file_is_masked_in_place():
    assert mask_text("a <private>b</private>\nc\n", "n.md", FileRole.DOCUMENT) == f"a {'*' * 20}\nc\n"


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        "services/api/.env.production",
        "prod.env",
        ".envrc",
        "deploy.pem",
        "keys/id_rsa",
        "keys/id_ed25519_work",
        "server.key",
        "cert.P12",
        "store.jks",
        ".netrc",
        ".npmrc",
        ".pypirc",
        "home/.aws/credentials",
        ".docker/config.json",
        ".kube/config",
        "prod.kubeconfig",
        ".git-credentials",
        "gcp/service-account-prod.json",
        "client_secret_123.apps.json",
        ".htpasswd",
        "terraform.tfstate",
        "win\\keys\\id_rsa",
        ".env~",
        ".env.bak",
        ".env-prod",
        "api/.env_staging",
        ".envrc.local",
        "prod.env.old",
        ".env copy",
        "#.env#",
        "server.key.bak",
        "server.key.bak~",
        "tls/deploy.PEM.orig",
        "store.jks.old",
        ".server.key.swp",
        ".id_rsa.swp",
        "id_rsa.save",
        ".npmrc.bak",
        ".netrc~",
        "credentials.json.old",
        ".aws/credentials.bak",
        "home/.docker/config.json~",
        "terraform.tfvars",
        "live/terraform.tfvars.orig",
    ],
)
def test_a_file_that_is_there_to_hold_secrets_is_a_key_file(path):
    assert is_key_file(path)


@pytest.mark.parametrize(
    "path",
    [
        ".env.example",
        "app/.env.sample",
        ".env.template",
        ".env.local.example",
        "example.env",
        "id_rsa.pub",
        "environment.py",
        "keys.py",
        "src/credentials.py",
        "docs/secrets.md",
        "config.json",
        "src/token.rs",
        "package.json",
        "env/settings.py",
        "keyboard.ts",
        ".env.example~",
        ".env.example.bak",
        ".env-example",
        ".env_sample.old",
        "id_rsa.pub.bak",
        "deploy.pub~",
        "terraform.tfvars.example",
        "variables.tf",
        "notes.md~",
        "config.json.bak",
        "~",
        ".bak",
        "main.py.orig",
        "environment.bak",
    ],
)
def test_any_other_file_is_not(path):
    assert not is_key_file(path)


def test_importing_this_module_loads_no_http_client_and_reads_no_vendor_code():
    code = (
        "import sys, tenure.code.masking; print(sorted({'requests', 'urllib3', 'detect_secrets'} & set(sys.modules)))"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip() == "[]"
    )
