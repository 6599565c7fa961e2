"""Chat templates: where a checkpoint keeps them, and what they write when they are rendered under limits."""
