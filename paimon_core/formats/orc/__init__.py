"""ORC data files: pyarrow reads them, except for times that nanoseconds cannot hold, which `timestamps` reads."""
