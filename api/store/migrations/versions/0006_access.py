"""API keys, and whose an audit is."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table of keys; the audits there are belong to the tenant of an open service."""
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("tenant", sa.String(64), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("old_digest", sa.String(64)),
        sa.Column("old_expiry", sa.Float),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("expiry", sa.Float),
        sa.Column("revoked", sa.Float),
        sa.Column("last_used", sa.Float),
    )
    op.add_column("audits", sa.Column("tenant", sa.String(64), nullable=False, server_default="default"))
    op.create_index("audits_tenant_created", "audits", ["tenant", "created"])


def downgrade() -> None:
    """Drop what was added."""
    op.drop_index("audits_tenant_created", "audits")
    op.drop_column("audits", "tenant")
    op.drop_table("api_keys")
