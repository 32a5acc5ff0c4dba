"""Other tools in one environment with us, by `make beside`: what each imports, and a small project of each."""
