"""Pictures of a table, drawn from its metadata: SVG and HTML without scripts, and Unicode blocks for terminals."""
