"""Which paths a question is about. Pure."""

from tenure.core.context import RetrieveOptions


def has_paths(options: RetrieveOptions) -> bool:
    """Whether files or folders are asked for, and not the whole tree."""
    return bool(options.file_scope or options.directory_scope)


def is_in_paths(path: str, options: RetrieveOptions) -> bool:
    """Whether the path is one of the files and below one of the folders that are asked for."""
    folders = options.directory_scope
    in_files = not options.file_scope or path in options.file_scope
    return in_files and (not folders or any(folder == "" or path.startswith(f"{folder}/") for folder in folders))
