"""Tables that other writers and versions made: the makers, the tables as fixtures in `made`, and their tests."""
