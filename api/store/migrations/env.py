"""Alembic's entry point: run the migrations on the connection that the store hands over."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
