"""Structured logs on standard error, secrets masked before they are written."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog
from tenure.code.masking import mask_free_text


def configure_logging(level: str, format: str) -> None:
    """Set up logging once per process; `format` is `text` or `json`."""
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
            _mask_secrets,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=max(logging.getLevelNamesMapping()[level], logging.WARNING), stream=sys.stderr)


def _mask_secrets(_: Any, __: str, entry: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for key, value in entry.items():
        if isinstance(value, str):
            entry[key] = mask_free_text(value)
    return entry
