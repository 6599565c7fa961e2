"""Audits by id."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "audits",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("en", sa.LargeBinary, nullable=False),
        sa.Column("zh", sa.LargeBinary, nullable=False),
    )
    op.create_index("audits_created", "audits", ["created"])


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("audits")
