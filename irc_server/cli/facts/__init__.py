"""What the commands tell, gathered from an open catalog into plain dataclasses. Their fields are the keys of the JSON output."""
