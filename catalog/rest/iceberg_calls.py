"""Calls of Iceberg's REST API that register a table and commit to it.

Source: `rest-catalog-open-api.yaml` of Iceberg.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from urllib.parse import quote

from paimon_core.dataclass import dataclass
from paimon_core.errors import PaimonError, UnsupportedFeatureError
from paimon_core.iceberg.manifests import uri
from paimon_core.spec.identifier import Identifier
from paimon_core.spec.json_object import member
from paimon_sql.catalog.outcomes import OutcomeUnknown
from paimon_sql.catalog.rest.auth import oauth_token
from paimon_sql.catalog.rest.client import Node, RestClient
from paimon_sql.catalog.rest.failures import Refused
from paimon_sql.catalog.rest.settings import RestSettings

TOKEN, CREDENTIAL, OAUTH = "token", "credential", "oauth2-server-uri"  # options of Iceberg's client


@dataclass(frozen=True)
class IcebergServer:
    """The calls for one table. `path` is the common start of the addresses of namespaces."""

    client: RestClient
    path: str
    name: Identifier

    @property
    def _namespace(self) -> str:
        return f"{self.path}/namespaces/{quote(self.name.database, safe='')}"

    @property
    def _table(self) -> str:
        return f"{self._namespace}/tables/{quote(self.name.table, safe='')}"

    def load(self) -> Node | None:
        """Return the metadata of the table, or None if the server does not have the table."""
        try:
            found = self.client.get(self._table, {"snapshots": "all"})
        except Refused as error:
            if error.status == 404:
                return None
            raise
        there: Node = self.client.read(found, self._table, lambda n: member(n, "metadata", dict))
        return there

    def register(self, metadata: str) -> bool:
        """Register the table. Return False if the server has a table with this name by now."""
        body = {"name": self.name.table, "metadata-location": uri(metadata)}
        path = f"{self._namespace}/register"
        for is_first in (True, False):
            try:
                self.client.post(path, body)
                return True
            except Refused as error:
                if error.status == 409:
                    return False
                if error.status != 404 or not is_first:
                    raise _unregistered(error) from error
                self._create_namespace()
        raise AssertionError

    def _create_namespace(self) -> None:
        try:
            self.client.post(f"{self.path}/namespaces", {"namespace": [self.name.database], "properties": {}})
        except Refused as error:
            if error.status != 409:
                raise

    def drop(self) -> None:
        """Remove the table from the server. Its files stay, because they belong to Paimon."""
        try:
            self.client.delete(self._table, {"purgeRequested": "false"})
        except Refused as error:
            if error.status != 404:
                raise

    def commit(self, requirements: tuple[Node, ...], updates: tuple[Node, ...]) -> bool:
        """Commit updates. Return False if the table at the server does not meet the requirements."""
        body = {
            "identifier": {"namespace": [self.name.database], "name": self.name.table},
            "requirements": list(requirements),
            "updates": list(updates),
        }
        try:
            self.client.post(self._table, body)
        except OutcomeUnknown:
            return False
        except Refused as error:
            if error.status in (404, 409):
                return False
            raise
        return True


def connected(settings: RestSettings, given: Mapping[str, str], name: Identifier) -> IcebergServer:
    """Connect to a server for one table. `given` are the options of Iceberg's client. Raises `StorageError`."""
    client = RestClient(settings)
    try:
        if given.get(CREDENTIAL) and not given.get(TOKEN):
            client = _with_token(client, given)
        asked = {"warehouse": given["warehouse"]} if given.get("warehouse") else {}
        found = client.get("/v1/config", asked)
        defaults, overrides = (client.read(found, "/v1/config", _texts(key)) for key in ("defaults", "overrides"))
        said = {**defaults, **given, **overrides}
    except BaseException:
        client.close()
        raise
    prefix = said.get("prefix", "").strip("/")
    return IcebergServer(client, f"/v1/{prefix}" if prefix else "/v1", name)


def _texts(key: str) -> Callable[[Node], dict[str, str]]:
    def read(node: Node) -> dict[str, str]:
        found = member(node, key, dict, {})
        return {k: v for k, v in found.items() if isinstance(v, str)}

    return read


def _with_token(client: RestClient, given: Mapping[str, str]) -> RestClient:
    """Return the client with a token, for which a credential (ID:SECRET) is exchanged. Raises `StorageError`."""
    who, _, secret = given[CREDENTIAL].rpartition(":")
    form = {"grant_type": "client_credentials", "client_secret": secret, "scope": given.get("scope", "catalog")}
    if who:
        form["client_id"] = who
    place = given.get(OAUTH) or f"{client.settings.uri}/v1/oauth/tokens"
    token = oauth_token(place, form)
    client.close()
    return RestClient(replace(client.settings, token=token))


def _unregistered(error: Refused) -> PaimonError:
    if error.status in (404, 405, 406, 501):
        return UnsupportedFeatureError(
            f"It could not be registered, and only servers that can register tables are supported: {error}"
        )
    return error
