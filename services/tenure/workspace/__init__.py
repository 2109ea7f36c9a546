"""The workspace service."""
