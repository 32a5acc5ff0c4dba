"""The parser hook, and statements that become commands of ours."""
