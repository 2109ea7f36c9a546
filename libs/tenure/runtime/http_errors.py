"""Which status code stands for which error, both ways: what the server answers, and what a client makes of it."""

from tenure.core import errors

STATUS: tuple[tuple[type[errors.TenureError], int, str], ...] = (
    (errors.NotAuthenticated, 401, "not authenticated"),
    (errors.NotAllowed, 403, "not allowed"),
    (errors.RecordNotFound, 404, "not found"),
    (errors.RecordConflict, 409, "conflict"),
    (errors.StoreMismatch, 409, "stored data and configuration disagree"),
    (errors.GitRefused, 422, "git refused"),
    (errors.InvalidInput, 422, "invalid input"),
    (errors.LeaseLost, 503, "another worker took over"),
    (errors.StoreUnavailable, 503, "a store is not available"),
)
"""Error, status code and title. The title tells errors of one status apart."""
_OF_TITLE = {title: kind for kind, _, title in STATUS}


def status_of(error: errors.TenureError) -> tuple[int, str]:
    """Status code and title of an error of ours."""
    return next(((status, title) for kind, status, title in STATUS if isinstance(error, kind)), (500, "error"))


def error_of(status: int, title: str, detail: str) -> errors.TenureError:
    """The error that a problem was made of; one with another title is told by its status."""
    if title in _OF_TITLE:
        return _OF_TITLE[title](detail)
    if status >= 500:
        return errors.StoreUnavailable(detail)
    roots = (kind for kind, known, _ in STATUS if known == status and kind.__base__ is errors.TenureError)
    kind = next(roots, errors.InvalidInput)
    return kind(detail)
