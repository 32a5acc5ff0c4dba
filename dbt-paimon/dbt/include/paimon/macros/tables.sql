{# Statements that define tables. The adapter reads and checks the configs (model_configs.py). #}



{% macro paimon__create_table_as(temporary, relation, compiled_code, language='sql') -%}
  {%- if language != 'sql' -%}
    {% do exceptions.raise_compiler_error('Python models are not supported on Paimon tables yet: write the model in SQL.') %}
  {%- endif -%}
  {%- if temporary -%}
    {{ create_temporary_view(relation, compiled_code) }}
  {%- else -%}
    {%- set table = adapter.table_configs(model.config, model) -%}
    {%- if config.get('contract').enforced -%}
      {{ get_assert_columns_equivalent(compiled_code) }}
      {%- set compiled_code = get_select_subquery(compiled_code) -%}
    {%- endif %}
    create or replace table {{ relation }}
    using paimon
    {{ paimon_table_clauses(table) }}
    as
    {{ compiled_code }}
  {%- endif -%}
{%- endmacro %}


{% macro paimon_table_clauses(table) -%}
  {%- if table.partition_by %}
    partitioned by ({% for name in table.partition_by %}{{ adapter.quote(name) }}{{ ', ' if not loop.last }}{% endfor %})
  {%- endif %}
  {%- if table.properties %}
    tblproperties ({{ adapter.properties(table.properties) }})
  {%- endif %}
  {{ comment_clause() }}
{%- endmacro %}


{% macro paimon__comment_clause() -%}
  {%- if config.persist_relation_docs() and model.description -%}
    comment {{ adapter.comment_literal(model.description) }}
  {%- endif -%}
{%- endmacro %}


{# A temporary view belongs to the session, which all threads share, so its name must be unique. #}
{% macro paimon__make_temp_relation(base_relation, suffix) %}
  {% set relation = api.Relation.create(identifier=adapter.temporary_identifier(base_relation.identifier), type='view') %}
  {{ return(relation.include(database=false, schema=false)) }}
{% endmacro %}


{% macro paimon_drop_temporary_view(relation) %}
  {% call statement('drop_temporary_view') %}
    drop view if exists {{ relation }}
  {% endcall %}
{% endmacro %}


{# Constraints: a primary key is part of the table's definition already, and there are no others. #}
{% macro paimon__persist_constraints(relation, model) %}{% endmacro %}


{% macro paimon__alter_column_type(relation, column_name, new_column_type) -%}
  {% call statement('alter_column_type') %}
    alter table {{ relation }} alter column {{ adapter.quote(column_name) }} type {{ new_column_type }}
  {% endcall %}
{% endmacro %}


{% macro paimon__alter_relation_add_remove_columns(relation, add_columns, remove_columns) %}
  {% if add_columns %}
    {% do paimon__create_columns(relation, add_columns) %}
  {% endif %}
  {% if remove_columns %}
    {% call statement('remove_columns') %}
      alter table {{ relation }} drop columns (
        {%- for column in remove_columns %}{{ adapter.quote(column.name) }}{{ ', ' if not loop.last }}{% endfor -%}
      )
    {% endcall %}
  {% endif %}
{% endmacro %}


{% macro paimon__create_columns(relation, columns) %}
  {% if columns %}
    {% call statement('add_columns') %}
      alter table {{ relation }} add columns (
        {%- for column in columns %}{{ adapter.quote(column.name) }} {{ column.data_type }}{{ ', ' if not loop.last }}{% endfor -%}
      )
    {% endcall %}
  {% endif %}
{% endmacro %}


{# Comments: change only those that differ, because each ALTER TABLE adds a schema to the table. #}
{% macro paimon__persist_docs(relation, model, for_relation, for_columns) -%}
  {% if relation.type == 'view' %}
    {{ return('') }}  {# CREATE VIEW has set them #}
  {% endif %}
  {% if for_relation and config.persist_relation_docs() and model.description %}
    {% do paimon__alter_relation_comment(relation, model.description) %}
  {% endif %}
  {% if for_columns and config.persist_column_docs() and model.columns %}
    {% set comments = adapter.column_comments(relation) %}
    {% do paimon__alter_column_comment(relation, validate_doc_columns(relation, model.columns, comments | list), comments) %}
  {% endif %}
{% endmacro %}


{% macro paimon__alter_relation_comment(relation, comment) %}
  {% if adapter.relation_comment(relation) != comment | trim %}
    {% call statement('comment_on_table') %}
      comment on table {{ relation }} is {{ adapter.comment_literal(comment) }}
    {% endcall %}
  {% endif %}
{% endmacro %}


{% macro paimon__alter_column_comment(relation, column_dict, comments) %}
  {% set changes = [] %}
  {% for name in column_dict %}
    {% set comment = (column_dict[name]['description'] or '') | trim %}
    {% if comment != comments.get(name, '') %}
      {% do changes.append(adapter.quote(name) ~ ' comment ' ~ adapter.comment_literal(comment)) %}
    {% endif %}
  {% endfor %}
  {% if changes %}
    {% call statement('comment_on_columns') %}
      alter table {{ relation }} alter column {{ changes | join(', ') }}
    {% endcall %}
  {% endif %}
{% endmacro %}


{# Grants to the warehouse's users. Grants that are not in the relation's config are revoked, as in dbt. #}
{% macro paimon__apply_grants(relation, grant_config, should_revoke=True) %}
  {% for change, user, privilege in adapter.grant_changes(relation, grant_config) %}
    {% do log(change ~ ' ' ~ privilege ~ ' on ' ~ relation ~ ': ' ~ user) %}
    {% call statement('grant_or_revoke') %}
      call {{ adapter.quote(relation.database) }}.sys.
        {{- 'grant_privilege_to_user' if change == 'grant' else 'revoke_privilege_from_user' }}(
        {{ adapter.literal(user) }}, {{ adapter.literal(privilege) }},
        {{ adapter.literal(relation.schema) }}, {{ adapter.literal(relation.identifier) }})
    {% endcall %}
  {% endfor %}
{% endmacro %}


{% macro paimon_list_privileges(database) %}
  {% call statement('list_privileges', fetch_result=True, auto_begin=False) -%}
    call {{ adapter.quote(database) }}.sys.list_privileges()
  {% endcall %}
  {{ return(load_result('list_privileges').table) }}
{% endmacro %}
