"""`GET /health`."""

from __future__ import annotations

import json
import urllib.error
import urllib.request

import pytest

from paimon_sql.server.health import start_health


def test_serving_and_stopping() -> None:
    said = {"status": "serving", "sessions": 2}
    server = start_health("127.0.0.1", 0, lambda: said)
    url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        with urllib.request.urlopen(f"{url}/health") as answer:
            assert answer.status == 200 and json.load(answer) == said
        said["status"] = "stopping"
        with pytest.raises(urllib.error.HTTPError) as stopping:
            urllib.request.urlopen(f"{url}/health")
        assert stopping.value.code == 503
        with pytest.raises(urllib.error.HTTPError) as other:
            urllib.request.urlopen(f"{url}/../etc/passwd")
        assert other.value.code == 404
    finally:
        server.shutdown()
        server.server_close()
