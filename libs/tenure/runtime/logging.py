"""Structured logs on standard error, secrets masked before they are written."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

from tenure.code.masking import mask_free_text

_PLAIN = (int, float, bool, type(None))


def configure_logging(level: str, format: str) -> None:
    """Set up logging once per process; `format` is `text` or `json`. Other libraries' logs are masked as well."""
    threshold = logging.getLevelNamesMapping()[level]
    renderer: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _mask_entry,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_MaskingFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=max(threshold, logging.WARNING), handlers=[handler], force=True)


class _MaskingFormatter(logging.Formatter):
    """Masks the whole entry, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        """The entry without secrets."""
        return mask_free_text(super().format(record))


def _mask_entry(_: Any, __: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for key, value in entry.items():
        entry[key] = _masked(value)
    return entry


def _masked(value: Any) -> Any:
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, dict):
        return {str(key): _masked(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(entry) for entry in value]
    return mask_free_text(str(value))
