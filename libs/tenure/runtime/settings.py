"""The effective configuration: YAML with `${VAR:default}`, then environment, then flags, each over the one before.

Unknown keys fail in all three, with the nearest known name. Nothing is read at import; `load_settings` is called
once, by the composition root.
"""

import difflib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError

from tenure.core.context import FusionMethod
from tenure.core.errors import InvalidInput

ENV_PREFIX = "TENURE_"
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([^}]*))?\}")
_HERE = Path(__file__).resolve()


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerSettings(_Section):
    """The local server."""

    host: str = "127.0.0.1"
    port: int = Field(7878, ge=0, le=65535)
    idle_minutes: float = Field(30, gt=0)
    max_body_bytes: int = Field(8 * 1024 * 1024, ge=1024)

    @property
    def is_loopback(self) -> bool:
        """True if only this machine can reach the server."""
        return self.host == "localhost" or self.host.startswith("127.") or self.host == "::1"


class DatabaseSettings(_Section):
    """SQL, the truth."""

    url: SecretStr = SecretStr("")


class VectorSettings(_Section):
    """The vector store."""

    provider: Literal["qdrant_edge"] = "qdrant_edge"


class EmbedderSettings(_Section):
    """The model that makes dense vectors."""

    provider: Literal["onnx", "openai"] = "onnx"
    model: str = "minilm-l6-v2-int8"
    dimension: int = Field(384, ge=1, le=65536)
    base_url: str = ""
    api_key: SecretStr = SecretStr("")


class TokenSettings(_Section):
    """The tokenizer whose tokens the budget counts."""

    encoding: str = "o200k_base"


class IndexingSettings(_Section):
    """What is indexed and with how much of the machine."""

    allowed_roots: tuple[Path, ...] = ()
    workers: int = Field(2, ge=0, le=64)
    history_commits: int = Field(5000, ge=0)
    full_pass_rate: float = Field(0.3, gt=0, le=1)
    dense: bool = True


class RetrievalSettings(_Section):
    """How a question is answered."""

    source_deadline_ms: int = Field(150, ge=1)
    fusion: FusionMethod = FusionMethod.RELATIVE_SCORE


class LoggingSettings(_Section):
    """Logs go to standard error."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    format: Literal["text", "json"] = "text"


class Settings(_Section):
    """The whole configuration; immutable, built once."""

    profile: str
    home: Path
    server: ServerSettings = ServerSettings()
    database: DatabaseSettings = DatabaseSettings()
    vectors: VectorSettings = VectorSettings()
    embedder: EmbedderSettings = EmbedderSettings()
    tokens: TokenSettings = TokenSettings()
    indexing: IndexingSettings = IndexingSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    logging: LoggingSettings = LoggingSettings()

    @property
    def database_url(self) -> str:
        """The SQLAlchemy URL; SQLite inside `home` unless one is set."""
        return self.database.url.get_secret_value() or f"sqlite+aiosqlite:///{self.home / 'tenure.sqlite3'}"

    @property
    def vectors_path(self) -> Path:
        """The folder of the embedded vector store."""
        return self.home / "vectors"


def load_settings(
    profile: str = "embedded",
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """The settings of a profile (a file `config/<profile>.yaml`, or a path to a YAML file).

    `flags` are dotted names (`server.port`). Raises `InvalidInput` that names the key, where it came from and the
    nearest known name.
    """
    env = os.environ if environment is None else environment
    path = _profile_path(profile)
    try:
        loaded = yaml.safe_load(_interpolate(path.read_text("utf-8"), env)) or {}
    except yaml.YAMLError as error:
        raise InvalidInput(f"{path} is not valid YAML: {error}") from error
    if not isinstance(loaded, dict):
        raise InvalidInput(f"{path} must hold a mapping of settings")
    for name, value in _environment_keys(env):
        _assign(loaded, name, yaml.safe_load(value) if value else value, f"environment variable {ENV_PREFIX}…")
    for name, value in (flags or {}).items():
        _assign(loaded, name, value, "flag")
    loaded["home"] = Path(str(loaded.get("home", ""))).expanduser().absolute()
    try:
        return Settings.model_validate(loaded)
    except ValidationError as error:
        raise InvalidInput(_explain(error, path)) from error


def describe(settings: Settings) -> dict[str, Any]:
    """The effective configuration as plain data, secrets masked."""
    return settings.model_dump(mode="json")


def shipped_folder(name: str) -> Path:
    """The folder `config` or `migrations`: at the root of the clone, or inside the installed package."""
    for base in (_HERE.parents[3], _HERE.parents[1]):
        if (base / name).is_dir():
            return base / name
    raise InvalidInput(f"the folder {name!r} is missing from this installation; install Tenure from a clone or a wheel")


def _profile_path(profile: str) -> Path:
    is_file = profile.endswith((".yaml", ".yml"))
    path = Path(profile) if is_file else shipped_folder("config") / f"{profile}.yaml"
    if not path.is_file():
        known = sorted(p.stem for p in shipped_folder("config").glob("*.yaml"))
        raise InvalidInput(f"no configuration {profile!r}; known profiles: {', '.join(known)}, or give a YAML file")
    return path


def _interpolate(text: str, env: Mapping[str, str]) -> str:
    def value(match: re.Match[str]) -> str:
        found = env.get(match[1]) or match[2]
        if found is None:
            raise InvalidInput(f"the configuration needs the environment variable {match[1]}; set it")
        return yaml.safe_dump(found, default_style='"').strip() if found else '""'

    lines = (line if line.lstrip().startswith("#") else _REFERENCE.sub(value, line) for line in text.splitlines())
    return "\n".join(lines)


def _environment_keys(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name, value in env.items():
        if name.startswith(ENV_PREFIX) and "__" in name:
            yield name.removeprefix(ENV_PREFIX).lower().replace("__", "."), value


def _assign(loaded: dict[str, Any], dotted: str, value: object, origin: str) -> None:
    *sections, last = dotted.split(".")
    target: Any = loaded
    for section in sections:
        target = target.setdefault(section, {})
        if not isinstance(target, dict):
            raise InvalidInput(f"{origin} {dotted!r}: {section!r} is not a section")
    target[last] = value


def _explain(error: ValidationError, path: Path) -> str:
    lines = []
    for problem in error.errors():
        key = ".".join(str(part) for part in problem["loc"])
        hint = ""
        if problem["type"] == "extra_forbidden":
            near = difflib.get_close_matches(key, list(_known_keys(Settings)), n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            lines.append(f"unknown setting {key!r}{hint}")
        else:
            lines.append(f"setting {key!r}: {problem['msg']}")
    return f"configuration from {path}, environment and flags is not valid: " + "; ".join(lines)


def _known_keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, info in model.model_fields.items():
        yield prefix + name
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from _known_keys(info.annotation, f"{prefix}{name}.")
