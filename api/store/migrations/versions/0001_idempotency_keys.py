"""Keys of repeated requests and the answers they get."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "idempotency_keys",
        sa.Column("key", sa.String(128), primary_key=True),
        sa.Column("request_digest", sa.String(64), nullable=False),
        sa.Column("route", sa.Text, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("headers", sa.Text),
        sa.Column("body", sa.LargeBinary),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("expiry", sa.Float, nullable=False),
    )
    op.create_index("idempotency_keys_created", "idempotency_keys", ["created"])


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("idempotency_keys")
