"""What is a secret, and how locations are shown without theirs."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from paimon_core.errors import CorruptFileError, InvalidOptionError
from paimon_core.io.file_io import storage_error
from paimon_core.options import TableOptions
from paimon_core.secrets import REDACTED, is_secret, redacted, statement_without_secrets, without_secrets
from paimon_core.spec.schema import TableSchema
from paimon_sql.catalog.load import load_catalog
from paimon_sql.catalog.paths import path_identifier
from paimon_sql.spark.redaction import DEFAULT, extended

NAMES = (
    "s3.secret-key s3.access-key fs.s3a.access.key fs.oss.accessKeySecret fs.oss.accessKeyId s3.session-token "
    "fsspec.key fsspec.sas_token fsspec.account_key fsspec.connection_string jdbc.password fsspec.passphrase "
    "password secret token credential accesskey accountkey encryptionkey authorization privatekey apikey sas session "
    "fs.azure.sas.container.account fsspec.session_id fsspec.sessionKey header.Authorization fsspec.auth jdbc.pwd "
    "kafka.sasl.jaas.config x.bearer jwt client.jwt client-key master-key storage-key subscription-key signing-key "
    "hmac-key passcode pass-phrase pass.phrase jdbc.pass pass dbpwd basic-auth basic.auth.user.info creds user-creds "
    "fs.cosn.userinfo.secretKey fs.gs.auth.service.account.json service_account_json"
)


NAMES += " fields.k.password file-index.bloom-filter.k.token table-default.s3.secret-key parquet.encryption.key#k"


@pytest.mark.parametrize("name", NAMES.split())
def test_secret_names(name: str) -> None:
    assert is_secret(name) and redacted({name: "x"}) == {name: REDACTED}


@pytest.mark.parametrize(
    "name",
    (
        *("primary-key", "bucket-key", "s3.endpoint", "fsspec.keys_only", "fields.k.ignore-retract", "sasl"),
        *("session.x", "fields.token_count.aggregate-function", "fields.a,password.sequence-group"),
        *("file-index.bloom-filter.session_token.fpp", "parquet.bloom.filter.enabled#api_key"),
        *("table-default.fields.secret.stats-mode", "token.provider", "data-token.enabled", "dlf.token-loader"),
        *("compass", "bypass"),
    ),
)
def test_other_names(name: str) -> None:
    assert not is_secret(name) and redacted({name: "a?b=c"}) == {name: "a?b=c"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://bucket/a?x=1", "s3://bucket/a?x=1"),
        ("https://u:SEEN@h/p", "https://***@h/p"),
        ("abfss://container@account/wh", "abfss://container@account/wh"),
        ("https://h/p?sv=1&sig=SEEN&x=2", "https://h/p?sv=1&sig=***&x=2"),
        ("s3://b/w?X-Amz-Signature=SEEN", "s3://b/w?X-Amz-Signature=***"),
        ("Cannot read s3://b/w?token=SEEN;key=SEEN: no", "Cannot read s3://b/w?token=***;key=*** no"),
    ],
)
def test_locations(text: str, shown: str) -> None:
    assert without_secrets(text) == shown


def test_errors_and_catalogs_show_none(tmp_path: Path) -> None:
    place = "s3://bucket/wh?access_token=SEEN"
    assert "SEEN" not in str(storage_error("read", place, "no")) + str(CorruptFileError(place, "it is"))
    for location in (place, "https://u:SEEN@h/wh"):
        for use in (lambda at: load_catalog({"warehouse": at}), path_identifier):
            with pytest.raises(InvalidOptionError, match="contains") as caught:
                use(location)
            assert "SEEN" not in str(caught.value)


def test_what_spark_redacts() -> None:
    """Its pattern is looked for in names of settings, and in those of options of plans, which have no prefix."""
    pattern = re.compile(extended(DEFAULT).replace("(?i)", "", 1), re.IGNORECASE)
    kinds = "password secret token credential accesskey accountkey encryptionkey authorization privatekey apikey"
    for kind in [*kinds.split(), "sas", "session", "key"]:
        for prefix in ("fsspec.", "spark.paimon.fsspec.", "spark.sql.catalog.lake.fsspec."):
            assert pattern.search(prefix + kind), prefix + kind
    assert not pattern.search("primary-key") and not pattern.search("sessions")


@pytest.mark.parametrize(
    "text",
    [
        "CREATE CATALOG c WITH ('s3.secret-key'='hush''hush', 'a'='b')",
        'ALTER DATABASE d SET DBPROPERTIES (`jdbc.password` = "hush\\"hush")',
        "SET spark.sql.catalog.c.token = hush",
        "set\n spark.sql.catalog.c.s3.access-key=hush",
        "CREATE TABLE t (k INT) LOCATION 's3://user:hush@host/x'",
        "CALL x(options => 'password=hush')",
        "/* it's */ CREATE TABLE t USING jdbc OPTIONS ('password' = 'hush')",
        "/* a /* b */ it's */ CREATE TABLE t USING jdbc OPTIONS ('password' = 'hush')",
        "CREATE TABLE t -- it's\n USING jdbc OPTIONS ('password' = 'hush')",
        "CREATE TABLE t -- it's \\\n too\n USING jdbc OPTIONS ('password' = 'hush')",
        "SELECT `it's`, aes_encrypt(v, 'hush') AS secret FROM t",
        "SELECT split(v, r'\\'), aes_encrypt(v, 'hush') AS secret FROM t",
        "SELECT 'a /* b', aes_encrypt(v, 'hush') AS secret /* c */ FROM t",
        "SELECT secret /*+ OPTIONS('k' = 'hush') */ FROM t",
        "CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS $$ token = 'it\\'s hush' # don't $$",
        "SELECT secret /* hush",
        "SELECT secret, 'hush",
        "/* now */ SET spark.sql.catalog.c.token = hush",
        "CREATE TABLE t USING jdbc OPTIONS ('it''s' 1, password '''hush')",
    ],
)
def test_statements_without_secrets(text: str) -> None:
    assert "hush" not in statement_without_secrets(text)


def test_numbers_may_be_secrets() -> None:
    shown = statement_without_secrets("CREATE TABLE t2 USING jdbc OPTIONS (password 4711, pin .5E3, a 'b')")
    assert shown == "CREATE TABLE t2 USING jdbc OPTIONS (password '***', pin '***', a '***')"


def test_other_statements_are_shown_as_they_are() -> None:
    assert statement_without_secrets("SELECT 'a' FROM t -- x") == "SELECT 'a' FROM t -- x"


def test_texts_of_objects_have_none() -> None:
    """Options that another engine put into a schema, and locations in errors."""
    options = {"s3.secret-key": "SEEN", "uri": "jdbc:postgresql://u:SEEN@h/d", "bucket": "2"}
    schema = TableSchema(fields=(), highest_field_id=0, options=options)
    texts = [repr(schema), repr(TableOptions(options)), repr(CorruptFileError("s3://b/w?token=SEEN", "it is"))]
    assert not [text for text in texts if "SEEN" in text]
    assert all("'bucket': '2'" in text for text in texts[:2]) and "highest_field_id=0" in texts[0]
    copy = pickle.loads(pickle.dumps(CorruptFileError("https://u:SEEN@h/p", "it is")))  # noqa: S301  our own
    assert str(copy) == str(CorruptFileError("https://***@h/p", "it is"))
