"""Cases: what is known of an incident, event by event, and the ranking after each."""
