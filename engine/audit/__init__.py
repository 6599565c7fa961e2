"""The release audit: a checkpoint folder into facts, and the gates of the knowledge base over them."""
