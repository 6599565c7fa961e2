"""What of a checkpoint runs, reaches out, or gives something away: code, settings, templates and texts."""
