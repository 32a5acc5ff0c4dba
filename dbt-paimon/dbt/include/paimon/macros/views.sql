{# Views of the catalog #}

{% macro paimon__create_view_as(relation, sql) -%}
  {%- if config.get('contract').enforced -%}
    {{ get_assert_columns_equivalent(sql) }}
  {%- endif -%}
  create or replace view {{ relation }}
  {%- if config.persist_column_docs() and model.columns %}
  ({% for name in get_columns_in_query(sql) %}
    {{ adapter.quote(name) }}{{ paimon_column_comment(name) }}{{ ',' if not loop.last }}
  {%- endfor %})
  {%- endif %}
  {{ comment_clause() }}
  as
  {{ sql }}
{%- endmacro %}


{% macro paimon_column_comment(name) -%}
  {%- for documented in model.columns if documented | lower == name | lower and model.columns[documented]['description'] %}
    comment {{ adapter.comment_literal(model.columns[documented]['description']) }}
  {%- endfor -%}
{%- endmacro %}
