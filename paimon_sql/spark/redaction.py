"""What Spark leaves out of its event log, its UI and the answer of SET.

Spark redacts settings by one pattern, `spark.redaction.regex`, which is looked for in their names and values. Of what
jobs carry with them it redacts only those that its context knows.
"""

from __future__ import annotations

from collections.abc import Iterable

from py4j.java_gateway import JavaObject

from paimon_core.secrets import REDACTED, SECRET_NAMES, is_secret, without_secrets
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.sessions import context_settings, settings_of
from paimon_sql.spark.session_bridge import CATALOG_PREFIX

PATTERN = "spark.redaction.regex"
DEFAULT = "(?i)secret|password|token|access[.]?key"  # Spark's own
# values of table properties are looked at too: what is added must not match a column's name
_OURS = (
    rf"(?i:(?:spark\.sql\.catalog|blob-descriptor|fsspec|s3a?|oss|fs|header|jdbc|dlf)\.\S*(?:{SECRET_NAMES})"
    rf"|://[^/?#@\s]*:[^/?#@\s]*@|[?&](?:sig|sas|key|auth|code|[^=&\s]*(?:{SECRET_NAMES})[^=&\s]*)=)"
)


def extended(pattern: str) -> str:
    """A pattern that also finds the secrets of our catalogs."""
    return pattern if pattern.endswith(_OURS) else f"(?:{pattern})|{_OURS}"


def redact(jvm: Jvm, session: JavaObject, settings: Iterable[str]) -> None:
    """Have the pattern extended in a session and its context, and the context know those of `settings`, each
    `spark.sql.catalog.NAME.OPTION=VALUE`, that are secrets: by their names, as new sessions have its settings, too."""
    context, own = context_settings(jvm), settings_of(session)
    context.set(PATTERN, extended(str(context.get(PATTERN, DEFAULT))))
    own.setConfString(PATTERN, extended(str(own.getConfString(PATTERN, DEFAULT))))
    for name, _, value in (setting.partition("=") for setting in settings):
        option = name.removeprefix(CATALOG_PREFIX).partition(".")[2]
        if is_secret(option) or without_secrets(value) != value:
            context.setIfMissing(name, REDACTED)
