"""Avro: the container format in every codec, data files, and the vectorized decoder that manifests use."""
