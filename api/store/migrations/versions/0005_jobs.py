"""Jobs to run after the transaction that ordered them."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table."""
    op.create_table(
        "jobs",
        # SQLite counts up by itself only in a column of exactly this type.
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("kind", sa.String(64), nullable=False),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("key", sa.String(400), unique=True),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("state", sa.String(8), nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("due", sa.Float, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("lease", sa.String(32)),
        sa.Column("error", sa.Text),
    )
    op.create_index("jobs_due", "jobs", ["state", "due"])


def downgrade() -> None:
    """Drop the table."""
    op.drop_table("jobs")
