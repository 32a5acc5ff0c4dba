"""What runs in Python workers on executors, and jobs that procedures hand to them."""
