"""The parser hook. Every statement passes through it, is rewritten if Spark could not parse it, and continues to Spark.

The hook also loads catalogs that were configured since the last statement. It turns statements on Paimon tables into
commands of this package.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from py4j.java_gateway import JavaObject
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession

from paimon_core.errors import InvalidNameError
from paimon_sql.preprocess import (
    NEAREST_ROWS,
    CatalogStatement,
    CreatePythonFunction,
    PaimonStatement,
    PreprocessError,
    Rewriting,
    Script,
    nowhere_else,
    preprocess,
)
from paimon_sql.preprocess.counterparts import Counterpart, counterpart, of_paimon, of_transaction
from paimon_sql.preprocess.parameters import markers, needs_values, with_values
from paimon_sql.preprocess.quoting import PATHS, with_path_catalog, with_quoted_system_tables
from paimon_sql.preprocess.statements import Name
from paimon_sql.spark.errors.java import contradiction, of_parser
from paimon_sql.spark.gaps import refused
from paimon_sql.spark.jvm import classes
from paimon_sql.spark.jvm.chosen_rows import check_chosen_relations
from paimon_sql.spark.jvm.commands import create_namespace
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.nested import called_procedure, with_statements
from paimon_sql.spark.jvm.older.parameters import (
    binds_late,
    has_parameters,
    rewrite_bound,
    rewrites_bound,
    values_in,
    values_of,
    waiting_for_values,
)
from paimon_sql.spark.jvm.older.state_options import parse_views_by
from paimon_sql.spark.jvm.older.syntax import syntax_of
from paimon_sql.spark.jvm.origins import with_written_origins
from paimon_sql.spark.jvm.plans import temporary_view
from paimon_sql.spark.jvm.scans.files import install_divided_scans
from paimon_sql.spark.jvm.scans.pushdown import install_selected_keys
from paimon_sql.spark.jvm.sessions import (
    client_variables,
    current_catalog,
    inject_parser,
    install_described_columns,
    java_session,
    move_to,
    parser_of,
    place_of_original,
    replace_parser,
    spark_variables,
    with_variables,
)
from paimon_sql.spark.proxy import Function2, Proxy
from paimon_sql.spark.statements.analyze import ANALYZE_TABLES, with_each_table
from paimon_sql.spark.statements.catalog_registry import CatalogRegistry, LoadedCatalogs
from paimon_sql.spark.statements.chosen_rows import CHOOSING, check_chosen, check_no_query, may_choose_rows
from paimon_sql.spark.statements.commands import FunctionCommand
from paimon_sql.spark.statements.function_statements import FunctionStatements
from paimon_sql.spark.statements.nearest_rows import register_nearest_rows
from paimon_sql.spark.statements.older_spark import OlderSpark
from paimon_sql.spark.statements.paimon_statements import planned
from paimon_sql.spark.statements.rewrites import StatementRewriter
from paimon_sql.spark.statements.views.listed_views import EXTENDED, with_views
from paimon_sql.spark.tables.path_names import view_of_path
from paimon_sql.spark.write.source_tasks import install_source_tasks

# first words of the statements that this package may run, in lower case
_OURS = re.compile(r"\b(?=[adimu])(?:analyze|insert|delete|update|merge|drop)\b")
_VIEW = re.compile(r"\b(?:view|table)\b", re.IGNORECASE)
_DESCRIBES = re.compile(r"\b(?:desc|describe|show)\b", re.IGNORECASE)
_OF_PAIMON = re.compile(r"\busing\s++`?paimon\b", re.IGNORECASE)
# the parsers of running sessions, by their `toString`: the JVM holds the proxies, but does not return the Python
# objects
_PARSERS: WeakValueDictionary[str, PaimonParser] = WeakValueDictionary()


class PaimonParser(Proxy):
    """Spark's parser, with the preprocessor before it."""

    def __init__(
        self,
        jvm: Jvm,
        registry: CatalogRegistry,
        delegate: JavaObject,
        place: tuple[str, JavaObject] | None = None,
    ) -> None:
        super().__init__(jvm)
        self.registry, self.delegate, self.rewriter = registry, delegate, StatementRewriter(registry)
        self.is_new = True
        self.describes = False  # whether a statement has described a table
        self.syntax, self.older = syntax_of(jvm), OlderSpark(registry)
        self.functions = FunctionStatements(registry)
        self.variables = spark_variables(jvm)
        self.place = place  # current in the session that this one is cloned from
        _PARSERS[self.toString()] = self

    def restrict_variables(self) -> None:
        """Replace only variables that a server's client may read. Raises `UnsupportedFeatureError` if that is
        impossible.
        """
        self.variables = client_variables(self.jvm, self.delegate)

    def parsePlan(self, text: str) -> Any:
        if (
            binds_late(self.jvm)
            and (found := self._parameters(text))
            and rewrites_bound(self.jvm, self.registry.session)
        ):
            self._prepare(text)
            return self.delegate.parsePlan(waiting_for_values(text, [text[start:end] for start, end in found]))
        return self._planned(text, self.delegate.parsePlan)

    def with_bound(self, plan: JavaObject) -> JavaObject:
        """Return the plan of a statement once its parameters have values, for a Spark that binds late."""
        waited = values_in(self.jvm, plan)
        if waited is None:
            return self.rewriter.rewritten(plan)
        text, values = waited
        return self._planned(with_values(text, markers(text), values), self.delegate.parsePlan)

    def _parameters(self, text: str) -> list[tuple[int, int]]:
        """Return the places of a statement's parameters if it is one that only Paimon has."""
        found = markers(text)
        return found if found and needs_values(text, found, partial(preprocess, syntax=self.syntax)) else []

    def parsePlanWithParameters(self, text: str, context: Any) -> Any:
        if found := self._parameters(text):
            values = values_of(self.jvm, [text[start:end] for start, end in found], context)
            if values is not None:
                return self._planned(with_values(text, found, values), self.delegate.parsePlan)
        return self._planned(text, self.delegate.parsePlanWithParameters, context)

    def _prepare(self, text: str) -> None:
        """Register the catalogs that a statement needs. In a new session, install this package's rules."""
        self.registry.bridge.count_statement()
        self.registry.register(text)
        if self.is_new:
            install_source_tasks(self.jvm, self.registry.session)
            install_divided_scans(self.jvm, self.registry.session)
            install_selected_keys(self.jvm, self.registry.session)
            parse_views_by(self.jvm, self.registry.session, self, self.delegate)
            self.is_new = False
            if self.place is not None:
                with suppress(Py4JJavaError, CapturedException):  # the database may have been dropped since
                    move_to(self.registry.session, *self.place)

    def _prepare_describing(self, text: str) -> None:
        """Before the first statement that describes a table, install what describes Paimon tables."""
        if not self.describes and _DESCRIBES.search(text):
            install_described_columns(self.jvm, self.registry.session)
            self.describes = True

    def _planned(self, text: str, parse: Callable[..., JavaObject], *context: Any) -> JavaObject:
        self._prepare(text)
        text = with_variables(self.variables, text)
        self._prepare_describing(text)
        statement = self._preprocessed(text, self._is_elsewhere)
        if isinstance(statement, Rewriting) and statement.is_elsewhere and not self._parses(text):
            statement = self._preprocessed(text)
        if isinstance(statement, PaimonStatement):
            return self._of_paimon(statement, lambda call: parse(call, *context))
        if PATHS in statement.text and PATHS not in text:
            self.registry.register(statement.text)
        if isinstance(statement, Script):
            plan = self._parsed(statement.rewriting, parse, *context)
            script = with_statements(
                self.jvm, plan, partial(self._in_script, statement, text, lambda call: parse(call, *context))
            )
            return plan if script is None else script
        if not self.syntax.create_like and (command := self.older.create_like(statement.text)) is not None:
            return command
        return self._finished(self._parsed(statement, parse, *context), text, self.rewriter.rewritten)

    def _in_script(self, script: Script, text: str, parse: Callable[[str], JavaObject], plan: JavaObject) -> JavaObject:
        """Return the plan of a statement, condition or query of a script. `parse` parses a text with the values of the
        script's parameters.
        """
        called = called_procedure(plan)
        if len(called) == 1 and (statement := script.statement_at(called[0])) is not None:
            return self._of_paimon(statement, parse)
        return self._finished(plan, text, self.rewriter.deferred)

    def _finished(self, plan: JavaObject, text: str, rewritten: Callable[[JavaObject], JavaObject]) -> JavaObject:
        """Return the plan that Spark continues with in place of a parsed statement; `text` is the statement's text."""
        self._check_choice(plan, text)
        plan = self.functions.planned(plan, text)
        plan = self.older.planned(plan, text)
        if ANALYZE_TABLES.search(text):
            plan = with_each_table(self.registry, plan)
        if EXTENDED.search(text):
            plan = with_views(self.registry, plan)
        if may_be_view(text) and (named := temporary_view(plan)) is not None:
            view = view_of_path(named)
            if view is not None:
                self.registry.register(view)
                return self.delegate.parsePlan(view)
        if not _OURS.search(text.lower()) or (binds_late(self.jvm) and has_parameters(self.jvm, plan)):
            return plan  # with parameters, `_bound` rewrites it later
        return rewritten(plan)

    def _check_choice(self, plan: JavaObject, text: str) -> None:
        """Refuse options that choose rows on a query of WITH. Let Spark's analyzer check the other relations that have
        such options.
        """
        if may_choose_rows(text):
            check_no_query(self.registry, plan)
            check_relations(self.jvm, self.registry.session)

    def _of_paimon(self, statement: PaimonStatement, parse: Callable[[str], JavaObject]) -> JavaObject:
        value = statement.value
        if isinstance(value, CreatePythonFunction):
            return self.functions.create_python(value)
        if not isinstance(value, CatalogStatement):
            return planned(self.registry, parse if statement.named_by else self.delegate.parsePlan, statement, value)
        change = partial(self.registry.change, value)
        command = FunctionCommand(self.jvm, f"change of catalog {value.name}", change)
        return create_namespace(self.jvm, command, value.name)

    def _parsed(self, statement: Rewriting, parse: Callable[..., JavaObject], *context: Any) -> JavaObject:
        if NEAREST_ROWS in statement.text:
            register_nearest_rows(self.registry)
        try:
            plan = parse(statement.text, *context)
        except (CapturedException, Py4JJavaError) as e:
            self._refuse(statement, is_parsed=False)
            raise of_parser(self.jvm, e, statement) from e
        self._refuse(statement, is_parsed=True)
        return with_written_origins(self.jvm, plan, statement)

    def _refuse(self, statement: Rewriting, *, is_parsed: bool) -> None:
        """Raise an error if a statement needs a feature that this Spark lacks, or is another format's statement on a
        Paimon table. The error names the feature, or the statement to write instead.
        """
        reason = refused(statement.text, self.jvm.spark_version, self.jvm.has, is_parsed=is_parsed)
        reason = reason or self._advice(counterpart(statement.written, is_parsed=is_parsed))
        if reason is None and not is_parsed:
            reason = of_transaction(statement.written) or of_paimon(statement.written)
        if reason:
            error = PreprocessError(reason, 1, 1)
            raise Py4JJavaError(reason, contradiction(self.jvm, error, statement.written))

    def _advice(self, found: Counterpart | None) -> str | None:
        """Return the advice for a statement of another format; None if its table is not in a Paimon catalog."""
        if found is None:
            return None
        try:
            located = self.registry.find_table(found.table)
        except InvalidNameError:
            return None
        if located is None or (found.parsed_as and self.registry.exists(found.parsed_as)):
            return None
        catalog, identifier = located
        is_current = current_catalog(self.registry.session) == catalog.catalog_name
        return found.advice(None if is_current else catalog.catalog_name, identifier.database, identifier.table)

    def _is_elsewhere(self, name: Name) -> bool:
        """Return whether a name leads to a catalog that is not a Paimon catalog."""
        try:
            return bool(name) and self.registry.find_table(name) is None
        except InvalidNameError:
            return False

    def _parses(self, text: str) -> bool:
        """Return whether Spark, or another extension of its parser, accepts a statement unchanged."""
        try:
            self.delegate.parsePlan(text)
        except (CapturedException, Py4JJavaError):
            return False
        return True

    def _preprocessed(
        self, text: str, is_elsewhere: Callable[[Name], bool] = nowhere_else
    ) -> Rewriting | PaimonStatement | Script:
        try:
            return preprocess(text, self.syntax, is_elsewhere, self.registry.is_beside_sparks)
        except PreprocessError as e:
            raise Py4JJavaError(str(e), contradiction(self.jvm, e, text)) from e

    def parseQuery(self, text: str) -> Any:
        self._prepare(text)
        text = with_variables(self.variables, text)
        self._prepare_describing(text)
        statement = self._preprocessed(text)
        query = statement if isinstance(statement, Rewriting) else Rewriting(text)
        plan = self._parsed(query, self.delegate.parseQuery)
        self._check_choice(plan, text)
        plan = self.functions.planned(plan, text)
        return self.older.planned(plan, text, in_view=True)

    def parseMultipartIdentifier(self, text: str) -> Any:
        name = with_path_catalog(with_quoted_system_tables(text))
        self._prepare(name)  # `spark.table` and `df.writeTo` call this without parsing a statement
        return self.delegate.parseMultipartIdentifier(name)

    def parseTemporalTableIdentifier(self, text: str) -> Any:
        name = with_path_catalog(with_quoted_system_tables(text))
        self._prepare(name)
        return self.delegate.parseTemporalTableIdentifier(name)

    def parseExpression(self, text: str) -> Any:
        return self.delegate.parseExpression(text)

    def parseTableIdentifier(self, text: str) -> Any:
        return self.delegate.parseTableIdentifier(text)

    def parseFunctionIdentifier(self, text: str) -> Any:
        return self.delegate.parseFunctionIdentifier(text)

    def parseTableSchema(self, text: str) -> Any:
        return self.delegate.parseTableSchema(text)

    def parseDataType(self, text: str) -> Any:
        return self.delegate.parseDataType(text)

    def parseRoutineParam(self, text: str) -> Any:
        return self.delegate.parseRoutineParam(text)

    def splitStatements(self, text: str) -> Any:
        return self.delegate.splitStatements(text)

    class Java:
        implements = [classes.PARSER_INTERFACE]


def registry_of(spark: SparkSession) -> CatalogRegistry | None:
    """Return the registry of Paimon catalogs of a session; None if the session does not have the parser hook."""
    return registry_in(java_session(spark))


def registry_in(session: JavaObject) -> CatalogRegistry | None:
    """Return the registry as `registry_of` does, for a Java session."""
    parser = _PARSERS.get(str(parser_of(session).toString()))
    if parser is not None:
        parser.registry.register()
    return None if parser is None else parser.registry


def may_be_view(text: str) -> bool:
    """Return whether a statement may create a temporary view of a table at a path."""
    found = _VIEW.search(text)
    return found is not None and _OF_PAIMON.search(text, found.end()) is not None


def has_parser(session: JavaObject) -> bool:
    """Return whether the hook is in a session."""
    return is_ours(parser_of(session))


def is_ours(parser: JavaObject) -> bool:
    """Return whether a parser is the hook itself."""
    return str(parser.toString()).startswith(PaimonParser.__name__)


def install_parser(jvm: Jvm, session: JavaObject, define_source: Callable[[JavaObject], None]) -> None:
    """Put the hook into a running session and into sessions made from it later. Does nothing if the hook is there.
    `define_source` makes Spark find the format `paimon`."""
    if has_parser(session):
        return
    loaded = LoadedCatalogs(define_source)
    parser = PaimonParser(jvm, CatalogRegistry(jvm, session, loaded), parser_of(session))
    replace_parser(session, parser)
    inject_parser(session, Function2(jvm, parsers(jvm, loaded)))
    if binds_late(jvm):
        rewrite_bound(jvm, session, Function2(jvm, _bound))


def parsers(jvm: Jvm, loaded: LoadedCatalogs) -> Callable[[JavaObject, JavaObject], PaimonParser | JavaObject]:
    """Return a function that makes the hook for a session and its parser. The sessions share loaded catalogs."""

    def parser(of: JavaObject, delegate: JavaObject) -> PaimonParser | JavaObject:
        if is_ours(delegate):
            return delegate  # sessions share their extensions, and another session has already added the hook to them
        place = place_of_original(of)  # Spark copies settings and temporary views, but not this
        return PaimonParser(jvm, CatalogRegistry(jvm, of, loaded), delegate, place)

    return parser


def restrict_variables(jvm: Jvm, session: JavaObject) -> None:
    """Let a session, and sessions made from it later, replace only variables that a server's client may read. Call it
    behind `install_parser`. Raises `UnsupportedFeatureError` if that is impossible."""

    def restricted(of: JavaObject, parser: JavaObject) -> JavaObject:
        ours = _PARSERS.get(str(parser.toString()))
        if ours is None:
            client_variables(jvm, parser)
        else:
            ours.restrict_variables()
        return parser

    restricted(session, parser_of(session))
    inject_parser(session, Function2(jvm, restricted))


def restrict_paths(session: JavaObject, may_open: Callable[[str], bool]) -> None:
    """Let a session, and sessions made from it later, open tables by path only if `may_open` returns true for the path.
    Call it behind `install_parser`, before a statement names a path.
    """
    registry = registry_in(session)
    assert registry is not None, "the session has no parser of this package"
    registry.loaded.restrict_paths(may_open)


def check_relations(jvm: Jvm, session: JavaObject) -> None:
    """Let a session, and sessions made from it later, refuse options that choose rows on anything but a Paimon table.
    Does nothing if the session does so already.
    """
    check_chosen_relations(jvm, session, CHOOSING, Function2(jvm, _check_chosen))


def _check_chosen(session: JavaObject, found: str) -> None:
    registry = registry_in(session)
    if registry is not None:
        check_chosen(registry, found)


def _bound(session: JavaObject, plan: JavaObject) -> JavaObject:
    """Rewrite a statement once its parameters have values: Spark continues with the result."""
    parser = _PARSERS.get(str(parser_of(session).toString()))
    if parser is None:
        return plan
    parser.registry.register()
    return parser.with_bound(plan)
