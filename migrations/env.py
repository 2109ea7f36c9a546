"""Runs migrations on the connection that `tenure.adapters.sql.migrate` hands over; that one owns the transaction."""

from alembic import context

from tenure.adapters.sql.schema import metadata

connection = context.config.attributes.get("connection")
if connection is None:
    raise SystemExit("Run `tenure migrate`: it hands the database over. (To write a new migration, see CONTRIBUTING.)")
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=False)
context.run_migrations()
